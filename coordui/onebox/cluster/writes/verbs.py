"""The verbs over HTTP: options in, registry, store and watches below, objects, lists, tables and streams out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from .. import errors
from ..access.authorizer import Authorizer
from ..access.rbac import Action
from ..bodies import schema
from ..core import Core
from ..http import responses
from ..http.requests import Target, read_object, read_patch, write_options
from ..storage import selectors
from ..storage.objects import Obj
from ..storage.resources import PODS, Resource
from .deletion import parse_options
from .writing import Write


class Verbs:
    def __init__(self, core: Core, authorizer: Authorizer) -> None:
        self.core, self._authorizer = core, authorizer

    async def create(self, request: Request, target: Target) -> Response:
        write, body = write_options(request, target), await read_object(request)
        await _schema(target.resource)
        obj = self.core.registry.create(target.resource, target.namespace, body, write)
        return _written(target.resource, obj, True, write)

    async def update(self, request: Request, target: Target) -> Response:
        write, body = write_options(request, target), await read_object(request)
        await _schema(target.resource)
        write.before_create = self._may_create(write, target)
        obj, created = self.core.registry.update(target.resource, target.namespace, target.name, body, write)
        return _written(target.resource, obj, created, write)

    async def patch(self, request: Request, target: Target) -> Response:
        write = write_options(request, target)
        kind, patch = await read_patch(request)
        await _schema(target.resource)
        registry, created = self.core.registry, False
        if kind == "apply":
            write.before_create = self._may_create(write, target)
            write.manager = request.query_params.get("fieldManager", "")
            obj, created = registry.apply(target.resource, target.namespace, target.name, patch, write)
        else:
            obj = registry.patch(target.resource, target.namespace, target.name, kind, patch, write=write)
        return _written(target.resource, obj, created, write)

    def _may_create(self, write: Write, target: Target) -> Callable[[], None]:
        """A replace or an apply that creates needs the right to create too."""

        def check() -> None:
            if write.user is not None:
                resource = target.resource
                action = Action("create", resource.group, resource.plural, target.namespace, target.name)
                self._authorizer.check(write.user, action)

        return check

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


async def _schema(resource: Resource) -> None:
    """Loaded in a thread: for most of a second nobody else would be answered."""
    if not schema.loaded(resource):
        await asyncio.to_thread(schema.load, resource)


def _typed(resource: Resource, obj: Obj) -> Obj:
    return {"kind": resource.kind, "apiVersion": resource.api_version, **obj}


def _written(resource: Resource, obj: Obj, created: bool, write: Write) -> Response:
    response = responses.json_object(_typed(resource, obj), 201 if created else 200)
    for warning in write.warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.append("warning", f'299 - "{text}"')
    return response
