"""The one place where HTTP statuses and Kubernetes `Status` objects become our errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from submits.cluster.transport import Response
from submits.gates.ports import (
    AlreadyExists,
    ClusterError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NamespaceMissing,
    NotFound,
    Throttled,
    Unanswered,
)
from submits.states import Reason


def status_of(body: bytes) -> dict[str, Any]:
    """The `Status` object of an error body; an empty one when a proxy answered in its own words."""
    try:
        status = json.loads(body)
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def forbidden(what: str, message: str) -> Forbidden:
    """A missing permission names the user and the verb; a quota and an admission policy have words of their own."""
    if "exceeded quota" in message:
        return Forbidden(f"{what}: {message}", Reason.QUOTA_FULL)
    # The authoriser's own phrase: User "x" cannot create resource "jobs"; else a plugin or webhook refused, whose own
    # words may well hold a "cannot".
    if not message or ('User "' in message and '" cannot ' in message):
        return Forbidden(f"{what}: {message or 'forbidden'}", Reason.GATE_FORBIDDEN)
    return Forbidden(f"{what}: {message}", Reason.POLICY_DENIED)


def translate(response: Response, verb: str, kind: str, namespace: str, name: str) -> ClusterError:
    """What an answer of 400 or more means. `what` = verb, resource and namespace, as an operator would say it."""
    status = status_of(response.body)
    words = status.get("message") if "message" in status else response.body[:200].decode("utf-8", "replace")
    message = str(words or "").strip()
    reason = status.get("reason")
    details = status.get("details") or {}
    what = f"{verb} {kind}{'/' + name if name else ''} in {namespace}"
    code = response.status
    if code == 404:
        if isinstance(details, dict) and details.get("kind") == "namespaces":
            return NamespaceMissing(f"{what}: {message}")
        return NotFound(f"{what}: {message}", told_date(response))
    if code == 409:
        return (AlreadyExists if reason == "AlreadyExists" else Conflict)(f"{what}: {message}")
    if code in (400, 413, 415, 422):
        return Invalid(f"{what}: {message}")
    if code == 401:
        return Forbidden(f"{what}: the credential is not accepted ({message})", Reason.GATE_FORBIDDEN)
    if code == 403:
        return forbidden(what, message)
    if code == 410:
        return Expired(f"{what}: {message}")
    if code == 429:
        return Throttled(f"{what}: {message}", retry_after(response))
    return Unanswered(f"{what}: {code} {message}")


def retry_after(response: Response) -> float:
    """Seconds of the Retry-After header; 1 when there is none or it is no number."""
    try:
        return min(300.0, max(0.0, float(response.headers.get("Retry-After", "1"))))
    except ValueError:
        return 1.0


def told_date(response: Response) -> datetime | None:
    """The server's clock, by its Date header; None where a proxy took it away."""
    try:
        return parsedate_to_datetime(response.headers["Date"]).astimezone(UTC)
    except (KeyError, TypeError, ValueError):
        return None
