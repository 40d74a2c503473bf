"""The writing verbs over HTTP: options and bodies in, the registry below, objects out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from .. import errors
from ..access.authorizer import Authorizer
from ..access.rbac import Action
from ..authors import Write
from ..bodies import schema
from ..core import Core
from ..storage import selectors
from ..storage.objects import Obj
from ..storage.resources import PODS, Resource
from . import responses
from .options import delete_options, write_options
from .requests import Target, read_body, read_object, read_patch


class Verbs:
    def __init__(self, core: Core, authorizer: Authorizer) -> None:
        self.core, self._authorizer = core, authorizer

    async def create(self, request: Request, target: Target) -> Response:
        write = write_options(request, target)
        body = await _body(request, write)
        await _schema(target.resource)
        obj = self.core.registry.create(target.resource, target.namespace, body, write)
        return _written(target.resource, obj, True, write)

    async def update(self, request: Request, target: Target) -> Response:
        write = write_options(request, target)
        body = await _body(request, write)
        await _schema(target.resource)
        write.before_create = self._may_create(write, target)
        obj, created = self.core.registry.update(target.resource, target.namespace, target.name, body, write)
        return _written(target.resource, obj, created, write)

    async def patch(self, request: Request, target: Target) -> Response:
        write = write_options(request, target)
        kind, (patch, write.repeated) = await read_patch(request)
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
        options = delete_options(await read_object(request), request)
        resource = target.resource
        obj, gone = self.core.deleter.delete(resource, target.namespace, target.name, options)
        if not gone or resource is PODS:
            return responses.json_object(_typed(resource, obj))
        details = errors.about(resource, target.name) | {"uid": obj["metadata"]["uid"]}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return responses.json_object(status)

    async def delete_collection(self, request: Request, target: Target) -> Response:
        query = request.query_params
        options = delete_options(await read_object(request), request)
        resource = target.resource
        selector = selectors.parse(resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        found = self.core.deleter.collection(resource, target.namespace or None, selector, options)
        metadata = {"resourceVersion": str(self.core.store.revision)}
        items = [_typed(resource, obj) for obj in found]
        kind = {"kind": resource.list_kind, "apiVersion": resource.api_version}
        return responses.json_object({**kind, "metadata": metadata, "items": items})


async def _body(request: Request, write: Write) -> Any:
    content, write.repeated = await read_body(request)
    return content


async def _schema(resource: Resource) -> None:
    """Loaded in a thread: for most of a second nobody else would be answered."""
    if not schema.loaded(resource):
        await asyncio.to_thread(schema.load, resource)


def _typed(resource: Resource, obj: Obj) -> Obj:
    return {"kind": resource.kind, "apiVersion": resource.api_version, **obj}


def _written(resource: Resource, obj: Obj, created: bool, write: Write) -> Response:
    response = responses.json_object(_typed(resource, obj), 201 if created else 200)
    for warning in responses.warnings(write.warnings):
        response.headers.append("warning", warning)
    return response
