"""The API as an ASGI application: authentication, dispatch by path and method, errors as Status objects."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from .. import errors
from ..access import reviews
from ..access.accounts import Accounts
from ..access.authentication import Authenticator
from ..access.authorizer import Authorizer
from ..access.rbac import Action
from ..access.reviews import Review, Reviews
from ..authors import User
from ..bodies import schema
from ..core import Core
from ..faults import Faults
from ..storage.objects import Obj
from ..storage.resources import ALL
from ..writes.quota import Quotas
from . import discovery, openapi, responses
from .faulty import DOOR
from .reading import Reader
from .requests import Target, action_of, flag, parse_path, read_object
from .verbs import Verbs
from .watches import Hub

log = logging.getLogger(__name__)
_HEALTH = ("/healthz", "/livez", "/readyz")


class Logs(Protocol):
    """Where pods/log comes from; the runner has it."""

    def response(self, pod: dict[str, Any], request: Request) -> Response: ...


async def _openapi(request: Request, prefix: str) -> Obj:
    """The client's models are read in a thread, as for a first write."""
    schemas = openapi.needs_schemas(request.headers.get("kubectl-command", ""))
    if schemas and not all(schema.loaded(resource) for resource in ALL):
        await asyncio.to_thread(schema.load)
    return openapi.document(prefix, schemas=schemas)


class Api:
    """`token` is the administrator's, `ca` what Secrets of ServiceAccounts hand out beside their token."""

    def __init__(self, core: Core, token: str, faults: Faults, *, fault_door: bool = False, ca: str = "") -> None:
        self.core, self.faults = core, faults
        self.authorizer, self.accounts = Authorizer(core), Accounts(core, token, ca)
        self.authenticator = Authenticator(token, self.accounts, self.authorizer)
        self.reviews = Reviews(self.authorizer, self.authenticator)
        self.hub = Hub(core.store)
        self.reader, self.verbs = Reader(core, self.hub), Verbs(core, self.authorizer)
        self.logs: Logs | None = None
        self._fault_door = fault_door
        Quotas(core.registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        path: str = scope["path"]
        try:
            response = await self._answer(request, path.rstrip("/") or "/")
        except errors.ApiError as why:
            response = responses.error(why)
        except RecursionError:
            response = responses.error(errors.bad_request("the body is nested too deeply"))
        except ClientDisconnect:
            return
        except Exception as why:  # whoever asked hears of it, as of a real server's panic; the others are served on
            log.exception("%s %s", request.method, path)
            response = responses.error(errors.ApiError(500, "InternalError", f"Internal error occurred: {why!r}"))
        response.headers["date"] = self.core.clock.http_date()
        await response(scope, receive, send)

    async def _answer(self, request: Request, path: str) -> Response:
        if path in _HEALTH:
            return PlainTextResponse("ok")
        if path == "/version":
            return responses.json_object(discovery.VERSION)
        request.state.user = user = self.authenticator.user_of(request)
        if (found := reviews.find(path)) is not None:
            return await self._review(request, *found)
        target = parse_path(path)
        if target is not None:
            self.authorizer.check(user, action_of(request, target))
            return await self._dispatch(request, target)
        self.authorizer.check(user, Action(request.method.lower(), path=path))
        if self._fault_door and path == DOOR:
            return await self._set_faults(request)
        prefix = discovery.openapi_prefix(path)
        document = await _openapi(request, prefix) if prefix else discovery.document(path)
        if document is None:
            raise errors.no_such_path()
        if request.method not in ("GET", "HEAD"):
            raise errors.not_allowed()
        return responses.json_object(document)

    async def _dispatch(self, request: Request, target: Target) -> Response:
        verbs, method = self.verbs, request.method
        if target.subresource == "log":
            return self._log(request, target)
        if target.subresource == "token":
            return await self._token(request, target)
        if method in ("GET", "HEAD"):
            if target.name and not flag(request, "watch"):
                return self.reader.get(request, target)
            return self.reader.list_or_watch(request, target)
        if target.name:
            if method == "PUT":
                return await verbs.update(request, target)
            if method == "PATCH":
                return await verbs.patch(request, target)
            if method == "DELETE" and not target.subresource:
                return await verbs.delete(request, target)
        elif target.namespace or not target.resource.namespaced:
            if method == "POST":
                return await verbs.create(request, target)
            if method == "DELETE":
                return await verbs.delete_collection(request, target)
        raise errors.not_allowed()

    def _log(self, request: Request, target: Target) -> Response:
        if request.method != "GET":
            raise errors.not_allowed()
        pod = self.core.registry.get(target.resource, target.namespace, target.name)
        if self.logs is None:
            raise errors.bad_request(f'the server runs no Pods, so "{target.name}" has no log')
        return self.logs.response(pod, request)

    async def _token(self, request: Request, target: Target) -> Response:
        if request.method != "POST":
            raise errors.not_allowed()
        answer = self.accounts.request(target.namespace, target.name, await read_object(request))
        return responses.json_object(answer, 201)

    async def _review(self, request: Request, review: Review, namespace: str) -> Response:
        if request.method != "POST":
            raise errors.not_allowed()
        user: User = request.state.user
        self.authorizer.check(user, Action("create", review.group, review.plural, namespace))
        answer = self.reviews.answer(review, namespace, user, await read_object(request))
        return responses.json_object(answer, 201)

    async def _set_faults(self, request: Request) -> Response:
        if request.method != "PUT":
            raise errors.not_allowed()
        try:
            self.faults.load(await read_object(request) or {})
        except (TypeError, ValueError, AttributeError) as why:
            raise errors.bad_request(f"faults: {why}") from None
        return responses.json_object({"rules": len(self.faults.rules)})
