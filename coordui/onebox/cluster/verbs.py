"""The verbs over HTTP: options in, registry, store and watches below, objects, lists, tables and streams out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from . import errors, lists, responses, selectors
from .core import Core
from .deletion import parse_options
from .objects import Obj, dump, load
from .registry import Write
from .requests import Target, flag, number, read_object, read_patch, write_options
from .resources import PODS, Resource
from .selectors import Requirement, Selector
from .tables import table
from .watches import Scope, Shape, plain


class Verbs:
    def __init__(self, core: Core) -> None:
        self.core = core

    # -- reading

    def get(self, request: Request, target: Target) -> Response:
        body = self.core.store.body(target.resource, target.namespace, target.name)
        if body is None:
            raise errors.not_found(target.resource, target.name)
        if _wants_table(request):
            obj = load(body)
            metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            return responses.json_object(self._table(request, target.resource, [obj], metadata))
        return responses.json_text(lists.on_wire(target.resource, body))

    def list_or_watch(self, request: Request, target: Target) -> Response:
        query, resource = request.query_params, target.resource
        selector = selectors.parse(resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        if target.name:
            one = Requirement("f:metadata.name", frozenset({target.name}))
            selector = Selector((*selector.requirements, one))
        namespace = target.namespace if target.namespace and resource.namespaced else None
        if flag(request, "watch"):
            return self._watch(request, Scope(resource, namespace, selector))
        store = self.core.store
        if (number(request, "resourceVersion") or 0) > store.revision:
            raise errors.ApiError(504, "Timeout", "Timeout: Too large resource version")
        limit, token = number(request, "limit"), query.get("continue", "")
        found = lists.page(store, resource, namespace, selector, limit=limit, token=token)
        if _wants_table(request):
            objects = [row.object for row in found.rows]
            return responses.json_object(self._table(request, resource, objects, found.metadata))
        return responses.json_text(lists.list_text(resource, found))

    def _watch(self, request: Request, scope: Scope) -> Response:
        revision = number(request, "resourceVersion")
        wants_initial = flag(request, "sendInitialEvents")
        initial = wants_initial or (not revision and "sendInitialEvents" not in request.query_params)
        shape = self._row_shape(request, scope.resource) if _wants_table(request) else plain(scope.resource)
        watch = self.core.hub.open(scope, revision or None, initial=initial, mark=wants_initial, shape=shape)
        seconds = number(request, "timeoutSeconds")
        return responses.Stream(watch.lines(seconds), watch.end, "application/json")

    def _table(self, request: Request, resource: Resource, objects: list[Obj], metadata: Obj) -> Obj:
        include = request.query_params.get("includeObject", "")
        return table(resource, objects, metadata, self.core.clock.now(), include=include)

    def _row_shape(self, request: Request, resource: Resource) -> Shape:
        """Only a watch's first table has its column heads."""
        include, headed = request.query_params.get("includeObject", ""), True

        def shape(body: str) -> str:
            nonlocal headed
            obj: Obj = load(body)
            if "name" not in obj["metadata"]:
                return body  # a bookmark
            metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            found = table(resource, [obj], metadata, self.core.clock.now(), include=include, headed=headed)
            headed = False
            return dump(found)

        return shape

    # -- writing

    async def create(self, request: Request, target: Target) -> Response:
        write, body = write_options(request, target), await read_object(request)
        obj = self.core.registry.create(target.resource, target.namespace, body, write)
        return _written(target.resource, obj, True, write)

    async def update(self, request: Request, target: Target) -> Response:
        write, body = write_options(request, target), await read_object(request)
        obj, created = self.core.registry.update(target.resource, target.namespace, target.name, body, write)
        return _written(target.resource, obj, created, write)

    async def patch(self, request: Request, target: Target) -> Response:
        write = write_options(request, target)
        kind, patch = await read_patch(request)
        registry, created = self.core.registry, False
        if kind == "apply":
            write.manager = request.query_params.get("fieldManager", "")
            obj, created = registry.apply(target.resource, target.namespace, target.name, patch, write)
        else:
            obj = registry.patch(target.resource, target.namespace, target.name, kind, patch, write=write)
        return _written(target.resource, obj, created, write)

    async def delete(self, request: Request, target: Target) -> Response:
        options = parse_options(await read_object(request), dict(request.query_params))
        resource = target.resource
        obj, gone = self.core.deleter.delete(resource, target.namespace, target.name, options)
        if not gone or resource is PODS:
            return responses.json_object(_typed(resource, obj))
        details = errors.about(resource, target.name) | {"uid": obj["metadata"]["uid"]}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return responses.json_object(status)

    async def delete_collection(self, request: Request, target: Target) -> Response:
        query = request.query_params
        options = parse_options(await read_object(request), dict(query))
        resource = target.resource
        selector = selectors.parse(resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        found = self.core.deleter.collection(resource, target.namespace or None, selector, options)
        metadata = {"resourceVersion": str(self.core.store.revision)}
        items = [_typed(resource, obj) for obj in found]
        kind = {"kind": resource.list_kind, "apiVersion": resource.api_version}
        return responses.json_object({**kind, "metadata": metadata, "items": items})


def _wants_table(request: Request) -> bool:
    return "as=Table" in request.headers.get("accept", "")


def _typed(resource: Resource, obj: Obj) -> Obj:
    return {"kind": resource.kind, "apiVersion": resource.api_version, **obj}


def _written(resource: Resource, obj: Obj, created: bool, write: Write) -> Response:
    response = responses.json_object(_typed(resource, obj), 201 if created else 200)
    for warning in write.warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.append("warning", f'299 - "{text}"')
    return response
