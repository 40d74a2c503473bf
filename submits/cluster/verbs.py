"""The `Cluster` port over HTTP: eight verbs on plain JSON objects of one namespace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from submits.cluster.connection import Connection
from submits.cluster.errors import status_of, told_date, translate
from submits.cluster.transport import HttpTransport, Response, Transport
from submits.gates.ports import (
    Answer,
    Change,
    Conflict,
    Expired,
    Kind,
    Listing,
    NotFound,
    Object,
    Patch,
    Unanswered,
)

PREFIX: dict[Kind, str] = {
    "leases": "/apis/coordination.k8s.io/v1",
    "jobs": "/apis/batch/v1",
    "configmaps": "/api/v1",
    "pods": "/api/v1",
}
PAGE = "500"  # objects a LIST asks for at once
RESTARTS = 5  # of a paged LIST whose snapshot is compacted under it


def whole(item: Object) -> Object:
    return item


def connect(connection: Connection) -> ApiCluster:
    return ApiCluster(HttpTransport(connection), connection.namespace)


class ApiCluster:
    """Every verb raises ClusterError as `errors.translate` says; a broken connection is Unanswered."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self.transport = transport
        self._namespace = namespace

    @property
    def namespace(self) -> str:
        return self._namespace

    def path(self, kind: Kind, name: str = "") -> str:
        base = f"{PREFIX[kind]}/namespaces/{self._namespace}/{kind}"
        return f"{base}/{name}" if name else base

    def call(
        self,
        method: str,
        kind: Kind,
        name: str = "",
        *,
        body: Any = None,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> tuple[Object, datetime]:
        # A create posts to the collection; its name is known all the same, for the error's sentence.
        target = self.path(kind, "" if method == "POST" else name)
        response = self.transport.request(method, target, query or {}, body, content_type)
        if response.status >= 400:
            raise translate(response, method, kind, self._namespace, name)
        try:
            answered = json.loads(response.body)
        except ValueError as error:
            raise Unanswered(f"{method} {kind} in {self._namespace}: the answer is not JSON") from error
        if not is_object(answered) and method != "DELETE":  # which may answer with a Status
            raise Unanswered(f"{method} {kind} in {self._namespace}: the answer is no Kubernetes object")
        return answered, date_of(response)

    def get(self, kind: Kind, name: str) -> Answer:
        return Answer(*self.call("GET", kind, name))

    def create(self, kind: Kind, body: Object) -> Answer:
        return Answer(*self.call("POST", kind, body["metadata"]["name"], body=body))

    def replace(self, kind: Kind, name: str, body: Object) -> Answer:
        return Answer(*self.call("PUT", kind, name, body=body))

    def patch(self, kind: Kind, name: str, operations: Patch) -> Answer:
        return Answer(*self.call("PATCH", kind, name, body=operations, content_type="application/json-patch+json"))

    def delete(self, kind: Kind, name: str, uid: str | None = None) -> None:
        body: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if uid:
            body["preconditions"] = {"uid": uid}
        try:
            self.call("DELETE", kind, name, body=body)
        except (NotFound, Conflict):
            return

    def pod_log(self, name: str, *, lines: int, size: int) -> bytes:
        """The last lines of what a Pod's container has written, at most `size` bytes of them."""
        target, query = f"{self.path('pods', name)}/log", {"tailLines": str(lines), "limitBytes": str(size)}
        response = self.transport.request("GET", target, query, None, "application/json")
        if response.status >= 400:
            raise translate(response, "GET", "pods", self._namespace, f"{name}/log")
        return response.body

    def list(self, kind: Kind, labels: str = "", fields: str = "", kept: Callable[[Object], Object] = whole) -> Listing:
        """All pages of one snapshot; without a resourceVersion, so never from a cache that lags. Of each object what
        `kept` makes of it, page by page: of very many only one page is ever held as it came."""
        for _ in range(RESTARTS):
            try:
                return self._list(kind, labels, fields, kept)
            except Expired:
                continue
        raise Unanswered(f"LIST {kind} in {self._namespace}: compacted under its pages {RESTARTS} times")

    def _list(self, kind: Kind, labels: str, fields: str, kept: Callable[[Object], Object]) -> Listing:
        query = {"limit": PAGE}
        if labels:
            query["labelSelector"] = labels
        if fields:
            query["fieldSelector"] = fields
        items: list[Object] = []
        while True:
            page, date = self.call("GET", kind, query=query)
            found, meta = page.get("items") or [], page["metadata"]
            if "resourceVersion" not in meta or not all(map(is_object, found)):
                raise Unanswered(f"LIST {kind} in {self._namespace}: the answer is no list")
            items += map(kept, found)
            if not meta.get("continue"):
                return Listing(tuple(items), meta["resourceVersion"], date)
            query["continue"] = meta["continue"]

    def watch(
        self, kind: Kind, version: str, labels: str = "", fields: str = "", seconds: int = 30
    ) -> Iterator[Change]:
        """Changes after `version`, for about `seconds`. Raises Expired (410, as a status or as an ERROR event)."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        if labels:
            query["labelSelector"] = labels
        if fields:
            query["fieldSelector"] = fields
        for part in self.transport.stream(self.path(kind), query, seconds):
            if isinstance(part, Response):
                if part.status >= 400:
                    raise translate(part, "WATCH", kind, self._namespace, "")
                continue
            event = status_of(part)
            told = event.get("object")
            if not isinstance(told, dict) or event.get("type") == "ERROR":
                code = told.get("code") if isinstance(told, dict) else None
                failed = Response(code if isinstance(code, int) else 500, {}, json.dumps(told).encode())
                raise translate(failed, "WATCH", kind, self._namespace, "")
            if event["type"] in ("ADDED", "MODIFIED", "DELETED") and "name" in (told.get("metadata") or {}):
                yield Change(event["type"], told)


def is_object(answered: Any) -> bool:
    """What a portal or a proxy says with 200 is JSON too, perhaps, but no object with metadata."""
    return isinstance(answered, dict) and isinstance(answered.get("metadata"), dict) and bool(answered["metadata"])


def date_of(response: Response) -> datetime:
    """The server's clock; our own where it is not told."""
    return told_date(response) or datetime.now(UTC)
