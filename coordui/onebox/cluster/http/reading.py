"""The reading verbs over HTTP: get, list, watch, in the form the client accepts."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from .. import errors
from ..core import Core
from ..faults import Rule
from ..storage import selectors
from ..storage.resources import Resource
from ..storage.selectors import Requirement, Selector
from . import lists, responses
from .faulty import STALE
from .lists import Asked
from .requests import Target, flag, number
from .shapes import Shape, shape_of
from .watches import Hub, Scope


class Reader:
    def __init__(self, core: Core, hub: Hub) -> None:
        self.core, self.store, self._hub = core, core.store, hub

    def get(self, request: Request, target: Target) -> Response:
        revision = lists.parse_revision(request.query_params.get("resourceVersion", ""))
        if revision:
            lists.check_reached(self.store, revision)
        rule: Rule | None = request.scope.get(STALE)
        if rule is None:
            body = self.store.body(target.resource, target.namespace, target.name)
        else:
            past = self._stale_revision(rule)
            body = self.store.body_at(target.resource, target.namespace, target.name, past)
        if body is None:
            raise errors.not_found(target.resource, target.name)
        return responses.json_text(self._shape(request, target.resource, many=False).one(body))

    def list_or_watch(self, request: Request, target: Target) -> Response:
        query, resource = request.query_params, target.resource
        selector = selectors.parse(resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        if target.name:
            one = Requirement("f:metadata.name", frozenset({target.name}))
            selector = Selector((*selector.requirements, one))
        namespace = target.namespace if target.namespace and resource.namespaced else None
        if flag(request, "watch"):
            return self._watch(request, Scope(resource, namespace, selector))
        asked = lists.asked(query)
        if rule := request.scope.get(STALE):
            asked = Asked(self._stale_revision(rule), lists.EXACT, asked.limit, asked.token)
        found = lists.page(self.store, resource, namespace, selector, asked)
        return responses.json_text(self._shape(request, resource, many=True).many(found.rows, found.metadata))

    def _watch(self, request: Request, scope: Scope) -> Response:
        query = request.query_params
        lists.check_watch(query)
        revision, seconds = lists.parse_revision(query.get("resourceVersion", "")), number(request, "timeoutSeconds")
        wants_initial = flag(request, "sendInitialEvents")
        if wants_initial and revision:
            lists.check_reached(self.store, revision)
        initial = wants_initial or (not revision and "sendInitialEvents" not in query)
        watch = self._hub.open(
            scope,
            revision or None,
            initial=initial,
            mark=wants_initial and flag(request, "allowWatchBookmarks"),
            shape=self._shape(request, scope.resource, many=False),
        )
        return responses.Stream(
            watch.lines(seconds if seconds and seconds > 0 else None),
            watch.end,
            "application/json",
            source=watch,
            patience=self._hub.patience,
        )

    def _shape(self, request: Request, resource: Resource, *, many: bool) -> Shape:
        accept = request.headers.get("accept", "")
        return shape_of(resource, accept, request.query_params, self.core.clock.now, many=many)

    def _stale_revision(self, rule: Rule) -> int:
        """As far back as the rule says, and the log reaches."""
        found: int = self.store.revision - rule.commits
        if rule.seconds:
            found = self.store.history.revision_at(self.core.clock.now().timestamp() - rule.seconds) or 0
        return max(found, self.store.compacted)
