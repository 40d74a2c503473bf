"""The API as an ASGI application: authentication, dispatch by path and method, errors as Status objects."""

from __future__ import annotations

import asyncio
import hmac
import logging
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from . import discovery, errors, responses
from .core import Core
from .faults import Faults, Rule
from .requests import Target, parse_path, read_object
from .verbs import Verbs

log = logging.getLogger(__name__)
_HEALTH = ("/healthz", "/livez", "/readyz")
_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_FAULTS = "/faults"


class Logs(Protocol):
    """Where pods/log comes from; the runner has it."""

    def response(self, pod: dict[str, Any], request: Request) -> Response: ...


def _bearer(header: str) -> bytes:
    """The token of an Authorization header; the scheme's letters may be of any case, and the official client's are."""
    scheme, _, token = header.partition(" ")
    return token.encode() if scheme.lower() == "bearer" else b""


class Api:
    def __init__(self, core: Core, token: str, faults: Faults, *, fault_door: bool = False) -> None:
        self.core, self.faults = core, faults
        self.verbs = Verbs(core)
        self.logs: Logs | None = None
        self._token, self._fault_door = token.encode(), fault_door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        path: str = scope["path"]
        rule = None
        if self.faults.rules and path != _FAULTS:
            rule = self.faults.take(request.method, path + "?" + request.url.query)
        if rule is not None and not await self._before(rule, send):
            return
        try:
            if rule is not None and rule.action == "status":
                raise rule.error()
            response = await self._answer(request, path.rstrip("/") or "/")
        except errors.ApiError as why:
            response = responses.error(why)
        except ClientDisconnect:
            return
        except Exception as why:
            log.exception("%s %s", request.method, path)
            response = responses.error(errors.ApiError(500, "InternalError", f"Internal error occurred: {why!r}"))
        if rule is not None and rule.action == "drop_response":
            await _break(send)
            return
        response.headers["date"] = self.core.clock.http_date()
        await response(scope, receive, send)

    async def _before(self, rule: Rule, send: Send) -> bool:
        """Whether the request goes on."""
        if rule.action == "delay":
            await asyncio.sleep(rule.seconds)
        if rule.action == "drop_request":
            await _break(send)
            return False
        return True

    async def _answer(self, request: Request, path: str) -> Response:
        if path in _HEALTH:
            return PlainTextResponse("ok")
        if path != "/version" and not hmac.compare_digest(
            _bearer(request.headers.get("authorization", "")), self._token
        ):
            raise errors.unauthorized()
        if self._fault_door and path == _FAULTS:
            return await self._set_faults(request)
        if path == _REVIEW:
            return await self._review(request)
        if (document := discovery.document(path)) is not None:
            if request.method not in ("GET", "HEAD"):
                raise errors.not_allowed()
            return responses.json_object(document)
        target = parse_path(path)
        if target is None:
            raise errors.no_such_path()
        return await self._dispatch(request, target)

    async def _dispatch(self, request: Request, target: Target) -> Response:
        verbs, method = self.verbs, request.method
        if target.subresource == "log" and method == "GET":
            return self._log(request, target)
        if method in ("GET", "HEAD"):
            if target.name and not request.query_params.get("watch"):
                return verbs.get(request, target)
            return verbs.list_or_watch(request, target)
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
        pod = self.core.registry.get(target.resource, target.namespace, target.name)
        if self.logs is None:
            raise errors.bad_request(f'the server runs no Pods, so "{target.name}" has no log')
        return self.logs.response(pod, request)

    async def _review(self, request: Request) -> Response:
        """The one token may do everything, so whatever is asked, also in protobuf, is allowed."""
        if request.method != "POST":
            raise errors.not_allowed()
        kind = "SelfSubjectAccessReview"
        review = {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {}}
        return responses.json_object(review | {"status": {"allowed": True}}, 201)

    async def _set_faults(self, request: Request) -> Response:
        if request.method != "PUT":
            raise errors.not_allowed()
        try:
            self.faults.load(await read_object(request) or {})
        except (TypeError, ValueError, AttributeError) as why:
            raise errors.bad_request(f"faults: {why}") from None
        return responses.json_object({"rules": len(self.faults.rules)})


async def _break(send: Send) -> None:
    """Break the connection under uvicorn's feet; its `send` belongs to the request's cycle, which has the transport."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise RuntimeError("a drop fault needs the server's own connection")
    transport.abort()
    # uvicorn hears of it one turn of the loop later; before that it would complain of a missing answer.
    await asyncio.sleep(0.01)
