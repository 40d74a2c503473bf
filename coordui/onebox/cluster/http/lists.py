"""Lists: which revision one is of, and its pages. All pages of a list are of the revision of the first: one snapshot.

The words of refusal are the real server's (apiserver's storage/etcd3 and apis/meta/internalversion/validation).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from .. import errors
from ..storage.history import Key
from ..storage.objects import Obj, dump, load
from ..storage.resources import Resource
from ..storage.selectors import Selector
from ..storage.store import Row, Store
from .requests import whole

EXACT, NOT_OLDER = "Exact", "NotOlderThan"
META = "meta.k8s.io/v1"
_MOST = 10**9  # objects of one page
_LATEST = -1  # in a token: go on, at the revision of now
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True)
class Asked:
    """`revision` None: not said. `match` is EXACT, NOT_OLDER or "". `token` is a continue token or ""."""

    revision: int | None = None
    match: str = ""
    limit: int = 0
    token: str = ""


@dataclass(frozen=True)
class Page:
    """Rows with the list's own metadata; every page carries the revision of the first."""

    rows: list[Row]
    metadata: Obj


class PageTooOld(errors.ApiError):
    """410 with a token that goes on at the latest revision instead."""

    def __init__(self, token: str) -> None:
        super().__init__(410, "Expired", _TOO_OLD)
        self._token = token

    def status(self) -> Obj:
        return super().status() | {"metadata": {"continue": self._token}}


def asked(query: Mapping[str, str]) -> Asked:
    """The options of a LIST. Raises 400 and 422 where they contradict each other."""
    version, match, token = (query.get(name, "") for name in ("resourceVersion", "resourceVersionMatch", "continue"))
    causes: list[errors.Cause] = []
    if match and not version:
        causes.append(_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if match and token:
        causes.append(_forbidden("resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("", EXACT, NOT_OLDER):
        words = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        causes.append(errors.Cause("resourceVersionMatch", words, "FieldValueNotSupported"))
    if match == EXACT and version == "0":
        causes.append(_forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        causes.append(_forbidden("sendInitialEvents is forbidden for list", "sendInitialEvents"))
    if causes:
        raise invalid_options(causes)
    revision = parse_revision(version)
    if token and revision:
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    return Asked(revision, match, _limit(query.get("limit", "")), token)


def check_watch(query: Mapping[str, str]) -> None:
    """Raises 422 for options that no watch may have."""
    match, initial = query.get("resourceVersionMatch", ""), "sendInitialEvents" in query
    causes: list[errors.Cause] = []
    if initial and match != NOT_OLDER:
        causes.append(_forbidden(f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER}"))
    if match and not initial:
        causes.append(_forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
    if match not in ("", NOT_OLDER):
        words = f'Unsupported value: "{match}": supported values: "{NOT_OLDER}"'
        causes.append(errors.Cause("resourceVersionMatch", words, "FieldValueNotSupported"))
    if causes:
        raise invalid_options(causes)


def page(store: Store, resource: Resource, namespace: str | None, selector: Selector, asked: Asked) -> Page:
    revision, after = _start(store, asked)
    limit = asked.limit
    rows = store.select(
        resource, namespace, selector, limit=limit + 1 if limit else None, after=after, revision=revision
    )
    metadata: Obj = {"resourceVersion": str(revision)}
    if limit and len(rows) > limit:
        rows = rows[:limit]
        metadata["continue"] = _token(revision, rows[-1].key)
        if not selector.requirements:
            metadata["remainingItemCount"] = store.count(resource, namespace, rows[-1].key, revision)
    return Page(rows, metadata)


def _start(store: Store, asked: Asked) -> tuple[int, Key | None]:
    """The revision of this page, and the object it begins behind."""
    if asked.token:
        revision, after = _read_token(asked.token)
        if revision == _LATEST:
            return store.revision, after
        if revision < store.compacted:
            raise PageTooOld(_token(_LATEST, after))
        check_reached(store, revision)
        return revision, after
    if not asked.revision:
        return store.revision, None
    check_reached(store, asked.revision)
    # A limit without a match means Exact, as it did before there was a match.
    if asked.match == EXACT or (asked.limit and not asked.match):
        if asked.revision < store.compacted:
            raise errors.expired("The resourceVersion for the provided list is too old.")
        return asked.revision, None
    return store.revision, None


def check_reached(store: Store, revision: int) -> None:
    """Raises 504 for a revision that the store has not come to yet; clients know it by its cause and try again."""
    if revision > store.revision:
        raise TooLarge(revision, store.revision)


class TooLarge(errors.ApiError):
    def __init__(self, revision: int, current: int) -> None:
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        words = f"Timeout: Too large resource version: {revision}, current: {current}"
        details = {"causes": [cause], "retryAfterSeconds": 1}
        super().__init__(504, "Timeout", words, details, retry_after=1)


def parse_revision(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise errors.bad_request(f"invalid resource version: resourceVersion: {why}")
    if len(text) > 100 or int(text) >= 2**64:
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": value out of range'
        raise errors.bad_request(f"invalid resource version: resourceVersion: {why}")
    return int(text)


def _limit(text: str) -> int:
    return min(max(0, whole(text, "limit") or 0), _MOST)


def _forbidden(words: str, field: str = "resourceVersionMatch") -> errors.Cause:
    return errors.Cause(field, f"Forbidden: {words}", "FieldValueForbidden")


def invalid_options(causes: list[errors.Cause]) -> errors.ApiError:
    words = [f"{cause.field}: {cause.message}" for cause in causes]
    text = words[0] if len(words) == 1 else "[" + ", ".join(words) + "]"
    details = {"group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause.status() for cause in causes]}
    return errors.ApiError(422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {text}', details)


def _token(revision: int, after: Key) -> str:
    """In the real server's form: the key to begin with, which is the last one's with the smallest possible end."""
    start = "/".join(part for part in after if part) + "\0"
    return base64.urlsafe_b64encode(dump({"v": META, "rv": revision, "start": start}).encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, Key]:
    try:
        found = load(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        revision, start, version = found["rv"], found["start"], found["v"]
        namespace, _, name = start.removesuffix("\0").rpartition("/")
        if version != META or type(revision) is not int or not name:
            raise ValueError(version)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise errors.bad_request("continue key is not valid: it does not come from this server") from None
    return revision, (namespace, name)
