"""A server, or what stands before it, that answers in its own way or not at all: one error each, with a sentence."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from submits.cluster import ApiCluster, Connection, connect
from submits.cluster.transport import HttpTransport
from submits.gates import ports
from submits.gates.admission import road_of
from submits.gates.verdicts import Outcome
from submits.states import REASONS, Reason
from tests.gates.trying import Try
from tests.onebox.cluster.fixtures import RunningCluster

Say = Callable[[BaseHTTPRequestHandler], None]


def kubeconfig(path: Path, server: str, ca: str = "") -> Connection:
    cluster = {"server": server} | ({"certificate-authority": ca} if ca else {})
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    path.write_text(yaml.safe_dump(config))
    return Connection(str(path), "blast")


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Callable[[Say], ApiCluster]]:
    """A cluster whose every answer a test writes."""
    started: list[ThreadingHTTPServer] = []

    def start(say: Say) -> ApiCluster:
        class Handler(BaseHTTPRequestHandler):
            def any(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                say(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = any

            def log_message(self, *words: Any) -> None:
                pass

        started.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=started[-1].serve_forever, args=[0.01]).start()
        connection = kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{started[-1].server_port}")
        return ApiCluster(HttpTransport(connection, timeout=0.5), connection.namespace)

    yield start
    for one in started:
        one.shutdown()
        one.server_close()


def answer(code: int, body: bytes, **headers: str) -> Say:
    def say(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return say


def status(code: int, reason: str, message: Any, **details: Any) -> Say:
    body = {"kind": "Status", "reason": reason, "message": message, "code": code, "details": details}
    return answer(code, json.dumps(body).encode(), Content_Type="application/json")


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


def half(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"metadata": ')
    handler.wfile.flush()
    handler.connection.close()


def no_http(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")


VERBS: dict[str, Callable[[ApiCluster], object]] = {
    "GET leases/x": lambda cluster: cluster.get("leases", "x"),
    "GET jobs": lambda cluster: cluster.list("jobs"),
    "POST jobs/x": lambda cluster: cluster.create("jobs", {"metadata": {"name": "x"}}),
    "PUT leases/x": lambda cluster: cluster.replace("leases", "x", {"metadata": {"name": "x"}}),
    "PATCH leases/x": lambda cluster: cluster.patch("leases", "x", []),
    "DELETE jobs/x": lambda cluster: cluster.delete("jobs", "x"),
    "WATCH configmaps": lambda cluster: list(cluster.watch("configmaps", "1", seconds=0)),
}
UNAUTHORISED = 'jobs is forbidden: User "u" cannot list resource "jobs" in API group "batch" in the namespace "blast"'


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("say", "error", "words"),
    [
        (status(401, "Unauthorized", "Unauthorized"), ports.Forbidden, "the credential is not accepted"),
        (status(403, "Forbidden", UNAUTHORISED), ports.Forbidden, 'User "u" cannot list'),
        (status(404, "NotFound", 'namespaces "blast" not found', kind="namespaces"), ports.NamespaceMissing, "blast"),
        (status(410, "Expired", "too old resource version: 1 (9)"), ports.Expired, "too old"),
        (status(422, "Invalid", "is invalid: spec"), ports.Invalid, "is invalid: spec"),
        (status(429, "TooManyRequests", "slow down"), ports.Throttled, "slow down"),
        (status(500, "InternalError", None), ports.Unanswered, "500"),
        (answer(502, b"<html>Bad Gateway</html>"), ports.Unanswered, "Bad Gateway"),
        (answer(503, b""), ports.Unanswered, "503"),
        (status(504, "Timeout", ["a", "list"], kind=7), ports.Unanswered, "504"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", ""),
)
def test_every_verb_says_what_was_asked_where_and_what_was_answered(
    answering: Callable[[Say], ApiCluster], verb: str, say: Say, error: type[ports.ClusterError], words: str
) -> None:
    if error is ports.Expired and verb == "GET jobs":
        error, words = ports.Unanswered, "compacted"  # a LIST begins again by itself, a few times
    with pytest.raises(error) as raised:
        VERBS[verb](answering(say))
    assert type(raised.value) is error
    told = str(raised.value).replace("LIST", "GET")
    assert told.startswith(f"{verb} in blast")
    assert words in told


@pytest.mark.parametrize(
    ("reason", "error"), [("Conflict", ports.Conflict), ("AlreadyExists", ports.AlreadyExists), ("", ports.Conflict)]
)
def test_a_conflict_is_of_a_name_or_of_a_revision(
    answering: Callable[[Say], ApiCluster], reason: str, error: type[ports.ClusterError]
) -> None:
    with pytest.raises(error, match="POST jobs/x in blast: not so"):
        answering(status(409, reason, "not so")).create("jobs", {"metadata": {"name": "x"}})


def test_a_delete_that_meets_another_uid_has_nothing_left_to_do(answering: Callable[[Say], ApiCluster]) -> None:
    answering(status(409, "Conflict", "Precondition failed: UID in precondition")).delete("jobs", "x", uid="another's")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 1), ("3", 3), ("0.5", 0.5), ("Sun, 29 Nov 2026 12:00:00 GMT", 1), ("nan", 0), ("inf", 300), ("", 1)],
)
def test_a_throttled_request_says_for_how_long(
    answering: Callable[[Say], ApiCluster], header: str | None, seconds: float
) -> None:
    headers = {} if header is None else {"Retry_After": header}
    with pytest.raises(ports.Throttled) as raised:
        answering(answer(429, b"{}", **headers)).get("leases", "x")
    assert raised.value.retry_after == seconds


def slow(handler: BaseHTTPRequestHandler) -> None:
    threading.Event().wait(0.8)
    hang_up(handler)


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Never silent for as long as a time-out, and never done."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    with contextlib.suppress(OSError):
        for _ in range(15):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            threading.Event().wait(0.1)


@pytest.mark.parametrize("say", [hang_up, half, no_http, slow, drip], ids=lambda say: say.__name__)
@pytest.mark.parametrize("verb", ["GET jobs", "PATCH leases/x", "WATCH configmaps"])
def test_an_answer_that_breaks_off_is_no_answer(answering: Callable[[Say], ApiCluster], say: Say, verb: str) -> None:
    """A write may have been done; whoever asked knows where it was sent."""
    if verb.startswith("WATCH") and say in (half, drip):
        return  # what came of a watch is a line or it is not
    asked = time.monotonic()
    with pytest.raises(ports.Unanswered, match="/namespaces/blast/"):
        VERBS[verb](answering(say))
    assert say is not drip or time.monotonic() - asked < 1.4  # it would end by itself after 1.5


def test_a_watch_that_breaks_off_in_the_middle_of_a_line_is_broken(answering: Callable[[Say], ApiCluster]) -> None:
    with pytest.raises(ports.Unanswered, match="/namespaces/blast/configmaps"):
        VERBS["WATCH configmaps"](answering(half))


NO_OBJECTS = [b"", b"<html>sign in</html>", b"{", b"\xff\xfe"]
ODD_OBJECTS = [b"[]", b'"x"', b"null", b"7", b"{}", b'{"ok": true}', b'{"metadata": null}', b'{"metadata": []}']


@pytest.mark.parametrize("body", [*NO_OBJECTS, *ODD_OBJECTS], ids=repr)
@pytest.mark.parametrize("verb", ["GET leases/x", "POST jobs/x", "PATCH leases/x"])
def test_a_success_that_is_no_object_is_no_answer(
    answering: Callable[[Say], ApiCluster], body: bytes, verb: str
) -> None:
    """A portal, a proxy's own page: not an object, and so not known whether it was done."""
    with pytest.raises(ports.Unanswered, match="in blast"):
        VERBS[verb](answering(answer(200, body)))


NO_LISTS = [
    *NO_OBJECTS,
    *ODD_OBJECTS,
    b'{"metadata": {"name": "x"}}',
    b'{"metadata": {"resourceVersion": "1"}, "items": [7]}',
]


@pytest.mark.parametrize("body", NO_LISTS, ids=repr)
def test_a_list_that_is_no_list_is_no_answer_and_never_an_empty_one(
    answering: Callable[[Say], ApiCluster], body: bytes
) -> None:
    with pytest.raises(ports.Unanswered, match="jobs in blast"):
        answering(answer(200, body)).list("jobs")


@pytest.mark.parametrize("body", [b"null", b"[]", b'{"ok": true}'], ids=repr)
def test_a_cluster_behind_a_portal_is_unknown_and_no_crash(answering: Callable[[Say], ApiCluster], body: bytes) -> None:
    verdict = Try(answering(answer(200, body))).admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE)


def test_a_certificate_that_nobody_vouches_for_is_said(server: RunningCluster, tmp_path: Path) -> None:
    stranger = tmp_path / "ca.crt"
    trustme.CA().cert_pem.write_to_path(str(stranger))
    with pytest.raises(ports.Unanswered, match=r"GET .*/namespaces/blast/leases/x: .*certificate verify failed"):
        connect(kubeconfig(tmp_path / "kubeconfig", server.url, str(stranger))).get("leases", "x")


def test_a_name_that_nobody_knows_is_said(tmp_path: Path) -> None:
    cluster = connect(kubeconfig(tmp_path / "kubeconfig", "https://no-such-host.invalid:6443"))
    with pytest.raises(ports.Unanswered, match=r"GET .*/namespaces/blast/leases/x: .*no-such-host.invalid"):
        cluster.get("leases", "x")


def test_a_port_where_nobody_listens_is_said(tmp_path: Path) -> None:
    with pytest.raises(ports.Unanswered, match="refused"):
        connect(kubeconfig(tmp_path / "kubeconfig", "https://127.0.0.1:9")).get("leases", "x")


@pytest.mark.parametrize(
    "error",
    [
        ports.Forbidden("x", Reason.GATE_FORBIDDEN), ports.Forbidden("x", Reason.QUOTA_FULL),
        ports.Forbidden("x", Reason.POLICY_DENIED), ports.NamespaceMissing("x"), ports.NotFound("x"),
        ports.Invalid("x"), ports.Unanswered("x"), ports.Throttled("x", 1), ports.Expired("x"), ports.Conflict("x"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_it_is_there_is_something_to_do_about_it(error: ports.ClusterError) -> None:
    _, reason = road_of(error)
    assert REASONS[reason].next_step
