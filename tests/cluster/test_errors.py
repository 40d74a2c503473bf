"""What an API server's answers mean, word for word as real ones give them."""

from __future__ import annotations

import json

import pytest

from submits.cluster.errors import translate
from submits.cluster.transport import Response
from submits.gates import ports
from submits.states import Reason


def answer(
    code: int, reason: str = "", message: str = "", headers: dict[str, str] | None = None, **details: str
) -> Response:
    body = {
        "kind": "Status",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "details": details,
        "code": code,
    }
    return Response(code, headers or {}, json.dumps(body).encode())


def meaning(response: Response) -> ports.ClusterError:
    return translate(response, "POST", "jobs", "blast", "elb-resv-1")


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (answer(404, "NotFound", 'jobs.batch "x" not found', kind="jobs"), ports.NotFound),
        (answer(404, "NotFound", 'namespaces "blast" not found', kind="namespaces"), ports.NamespaceMissing),
        (answer(409, "AlreadyExists", 'jobs.batch "x" already exists'), ports.AlreadyExists),
        (answer(409, "Conflict", "the object has been modified"), ports.Conflict),
        (answer(422, "Invalid", "testing value failed"), ports.Invalid),
        (answer(400, "BadRequest", "cannot parse MicroTime"), ports.Invalid),
        (answer(410, "Expired", "too old resource version"), ports.Expired),
        (answer(500, "InternalError", "etcdserver: request timed out"), ports.Unanswered),
        (answer(503, "ServiceUnavailable", ""), ports.Unanswered),
        (Response(502, {}, b"<html>Bad Gateway</html>"), ports.Unanswered),
    ],
)
def test_a_status_becomes_one_error(response: Response, error: type[ports.ClusterError]) -> None:
    assert type(meaning(response)) is error


def test_every_error_says_verb_resource_and_namespace() -> None:
    assert str(meaning(answer(409, "Conflict", "modified"))) == "POST jobs/elb-resv-1 in blast: modified"


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        (
            403,
            'jobs.batch is forbidden: User "system:serviceaccount:blast:coordui" cannot create resource "jobs" in API '
            'group "batch" in the namespace "blast"',
            Reason.GATE_FORBIDDEN,
        ),
        (403, 'jobs.batch "x" is forbidden: exceeded quota: jobs, requested: count/jobs.batch=1', Reason.QUOTA_FULL),
        (403, 'admission webhook "policy.example" denied the request: no Jobs on Sundays', Reason.POLICY_DENIED),
        (403, "", Reason.GATE_FORBIDDEN),
        (401, "Unauthorized", Reason.GATE_FORBIDDEN),
    ],
)
def test_a_refusal_is_a_missing_permission_a_full_quota_or_a_policy(code: int, message: str, reason: Reason) -> None:
    error = meaning(answer(code, "Forbidden", message))
    assert isinstance(error, ports.Forbidden)
    assert error.reason is reason
    assert message in str(error)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("0", 0), ("soon", 1), (None, 1), ("99999", 300), ("-4", 0)])
def test_a_throttled_request_says_when_to_come_again(header: str | None, seconds: float) -> None:
    error = meaning(answer(429, "TooManyRequests", "slow down", {"Retry-After": header} if header else {}))
    assert isinstance(error, ports.Throttled)
    assert error.retry_after == seconds
