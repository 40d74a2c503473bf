"""The API's wire and names: watches that hang or loop, permissions that fit another name, messages that get lost."""

from __future__ import annotations

import json
import queue
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from submits import live
from submits.cluster import ApiCluster, Connection, connect
from submits.cluster.reflector import Heard, Reflector, Source
from submits.cluster.seen import sources
from submits.cluster.transport import Response, Transport
from submits.gates import naming
from submits.gates.ports import Change, ClusterError, Expired, Listing, Unanswered
from submits.gates.verdicts import Outcome
from submits.models import Snapshot
from submits.states import REASONS, Reason, Status
from tests.gates.wire import Calm, wired
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_models import make


class Said:
    """A transport whose LISTs come from a cluster and whose watches say what a test chooses."""

    def __init__(self, inner: Transport, *watches: list[Response | bytes]) -> None:
        self.inner, self.watches = inner, list(watches)
        self.asked: list[str] = []

    def request(self, *arguments: Any) -> Response:
        return self.inner.request(*arguments)

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[Response | bytes]:
        self.asked.append(query["resourceVersion"])
        yield from self.watches.pop(0) if self.watches else []


def event(kind: str, told: Any) -> bytes:
    return json.dumps({"type": kind, "object": told}).encode()


def status(code: Any) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "reason": "Expired", "message": "too old", "code": code}


LEASE = {"metadata": {"name": "elb-ticket-1", "uid": "1", "resourceVersion": "9999999"}}
OK = Response(200, {}, b"")


def test_too_old_a_revision_is_answered_by_a_fresh_list_and_never_asked_for_again(cluster: ApiCluster) -> None:
    """As a status, as an ERROR event, as one without a code, and a bookmark and nonsense: none becomes a revision."""
    said = Said(
        cluster.transport,
        [Response(410, {}, json.dumps(status(410)).encode())],
        [OK, event("ERROR", status(410))],
        [OK, event("ADDED", LEASE), event("ERROR", status(410))],
        [OK, event("BOOKMARK", {"metadata": {"resourceVersion": "77777777"}})],
        [OK, event("ERROR", status(None)), b"nonsense"],
    )
    heard: queue.Queue[Heard] = queue.Queue()
    reflector = Reflector(Source("tickets", "leases", naming.TICKETS), ApiCluster(said, "default"), heard, resync=1)
    reflector.start()
    told: list[Listing | Change | ClusterError] = []
    while sum(isinstance(what, Listing) for what in told) < 6:
        told.append(heard.get(timeout=10).what)
    reflector.stop()
    reflector.join(10)
    current = cluster.list("leases", naming.TICKETS).version
    assert set(said.asked[:5]) == {current}
    assert sum(isinstance(what, Change) for what in told) == 1
    assert not any(isinstance(what, Expired) for what in told)


@pytest.fixture
def silent(server: RunningCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiCluster]:
    """A cluster behind a balancer that accepts a connection and forgets it: never a word comes back."""
    monkeypatch.setattr("submits.cluster.transport.QUIET", 0.1)
    monkeypatch.setattr("submits.cluster.transport.TIMEOUT", 0.1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        path = tmp_path / "kubeconfig"
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        path.write_text(Path(server.kubeconfig).read_text().replace(server.url, address))
        yield connect(Connection(str(path), "default"))


def test_a_half_open_connection_is_given_up_after_its_time(silent: ApiCluster) -> None:
    with pytest.raises(Unanswered, match="/namespaces/default/leases"):
        list(silent.watch("leases", "1", seconds=0))
    with pytest.raises(Unanswered, match="/namespaces/default/leases"):
        silent.list("leases")
    one = Calm(silent)
    assert one.admit().outcome is Outcome.UNKNOWN
    assert one.submit.started == []


@pytest.mark.parametrize(
    ("step", "verb", "resource"),
    [
        ("GET leases", "get", "leases"),
        ("POST leases", "create", "leases"),
        ("POST jobs", "create", "jobs"),
        (r"GET jobs\?.*elb-job-id", "list", "jobs"),
        (r"GET jobs\?.*app in", "list", "jobs"),
        ("GET configmaps", "get", "configmaps"),
    ],
)
def test_a_permission_that_is_missing_is_named_and_is_no_wait(
    cluster: ApiCluster, server: RunningCluster, step: str, verb: str, resource: str
) -> None:
    """A Lease of another name than the Role's: for ever refused, so it must not look like a busy gate."""
    words = (
        f'{resource} is forbidden: User "system:serviceaccount:default:coordui" cannot {verb} resource "{resource}" '
        'in API group "" in the namespace "default"'
    )
    refused, wire = wired(server)
    wire.refuse(step, words)
    one = Calm(refused)
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, Reason.GATE_FORBIDDEN)
    assert "system:serviceaccount:default:coordui" in verdict.detail
    assert f"cannot {verb}" in verdict.detail
    assert REASONS[verdict.reason].next_step
    assert one.submit.started == []
    wire.refusals.clear()
    assert one.jobs() == []


def test_the_names_are_the_ones_that_the_other_door_uses() -> None:
    """Letter by letter: two doors with two names for one Lease shut nobody out."""
    assert naming.gate("default") == "elb-blast-submit-default"
    assert naming.gate("blast") == "elb-blast-submit-blast"
    assert naming.COUNTED == "app in (finalizer,submit,blast)"
    assert (naming.ELB_JOB_ID, naming.APP) == ("elb-job-id", "app")
    assert naming.finalizer("job-0123456789abcdef") == "elb-finalizer-89abcdef"
    assert next(source.fields for source in sources("default")) == "metadata.name=elb-blast-submit-default"


@pytest.mark.django_db
def test_a_message_that_is_lost_is_healed_by_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint carries a version and no content: the whole state lies where every page can read it."""
    sent: list[int] = []
    monkeypatch.setattr(live, "hint", lambda scope, version: sent.append(version))
    scope = make(status=Status.FAILED).scope
    view = live.empty_view(3)
    versions = [live.publish(scope, {**view, "active": number}) for number in range(3)]
    assert versions == sorted(set(versions)) == sent
    shown, stamped, version = live.read(scope)
    assert (shown["active"], version) == (2, versions[-1])
    assert live.publish(scope, shown) == version  # nothing new: the same version, and nobody is told
    assert len(sent) == 3
    assert stamped is not None
    assert not live.is_stale(stamped, stamped + live.STALE_AFTER)
    assert live.is_stale(stamped, stamped + live.STALE_AFTER * 1.1)
    assert Snapshot.objects.count() == 1
