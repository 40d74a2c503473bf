"""Lists in pages, and how objects look on the wire."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from . import errors
from .objects import Obj, dump, load
from .resources import Resource
from .selectors import Selector
from .store import Row, Store


def on_wire(resource: Resource, body: str) -> str:
    """A stored body with its kind and apiVersion in front."""
    return f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",{body[1:]}'


@dataclass(frozen=True)
class Page:
    """Rows with the list's own metadata; every page carries the revision of the first."""

    rows: list[Row]
    metadata: Obj


def page(
    store: Store, resource: Resource, namespace: str | None, selector: Selector, *, limit: int | None, token: str
) -> Page:
    revision, after = store.revision, None
    if token:
        revision, *place = _read_token(token)
        after = (str(place[0]), str(place[1]))
        if revision < store.compacted:
            raise errors.expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new "
                "list without the continue parameter."
            )
    rows = store.select(resource, namespace, selector, limit=limit + 1 if limit else None, after=after)
    metadata: Obj = {"resourceVersion": str(revision)}
    if limit and len(rows) > limit:
        rows = rows[:limit]
        last = (rows[-1].namespace, rows[-1].name)
        metadata["continue"] = base64.urlsafe_b64encode(dump([revision, *last]).encode()).decode()
        if not selector.requirements:
            metadata["remainingItemCount"] = store.count(resource, namespace, selector, last)
    return Page(rows, metadata)


def _read_token(token: str) -> tuple[int, str, str]:
    try:
        revision, namespace, name = load(base64.urlsafe_b64decode(token))
        return int(revision), str(namespace), str(name)
    except (ValueError, TypeError, binascii.Error):
        raise errors.bad_request("continue key is not valid: it does not come from this server") from None


def list_text(resource: Resource, found: Page) -> str:
    items = ",".join(row.body for row in found.rows)
    kind = f'"kind":"{resource.list_kind}","apiVersion":"{resource.api_version}"'
    return f'{{{kind},"metadata":{dump(found.metadata)},"items":[{items}]}}'
