"""What must be so when all has ended: of every search's record, and of the cluster."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from submits.cluster import Connection, connect
from submits.gates import naming
from submits.gates.ports import ClusterError
from submits.states import ENDED, Status
from tests.story.audit import Audit, Journal, is_ended
from tests.story.installation import rows
from tests.world import until


def ended_once(state: Path, expected: dict[str, str], database: str = "") -> None:
    """Each of these searches has one event that ends it, and it is the expected one."""
    query = "select s.key, e.status from submits_event e join submits_submission s on s.id = e.submission_id"
    found: dict[str, list[str]] = {key: [] for key in expected}
    for key, status in rows(state, query, database):
        if str(status) in ENDED and str(key) in found:
            found[str(key)].append(str(status))
    assert found == {key: [status] for key, status in expected.items()}


def submitted_once(expected: dict[str, str], audit: Audit, journal: Journal) -> None:
    """No two submits at once; one finalizer for each search that was completed, and at most one for any."""
    assert audit.gaps == []
    assert sorted(journal.overlaps) == []
    made = Counter({key: len(audit.finalizers.get(naming.run_id(key), ())) for key in expected})
    assert {key: made[key] for key, status in expected.items() if status == Status.COMPLETED and made[key] != 1} == {}
    assert {key: count for key, count in made.items() if count > 1} == {}


def nothing_is_left(state: Path, within: float = 60) -> None:
    """No ticket, no marker, nothing that runs, nobody behind door A."""
    left: list[str] = []

    def is_empty() -> bool:
        try:
            left[:] = what_is_left(state)
        except ClusterError as error:
            left[:] = [str(error)]
        return not left

    try:
        until(is_empty, within)
    except AssertionError:
        raise AssertionError(f"left in the cluster: {left}") from None


def what_is_left(state: Path) -> list[str]:
    cluster = connect(Connection(str(state / "kubeconfig"), "default"))
    found = []
    for lease in cluster.list("leases").items:
        name = lease["metadata"]["name"]
        if name != naming.gate("default") or (lease.get("spec") or {}).get("holderIdentity"):
            found.append(name)
    jobs = cluster.list("jobs").items
    marked = [job for job in jobs if naming.ROLE in (job["metadata"].get("labels") or {})]
    found += [job["metadata"]["name"] for job in jobs if job in marked or not is_ended(job)]
    pods = cluster.list("pods").items
    found += [pod["metadata"]["name"] for pod in pods if pod["status"].get("phase") in ("Pending", "Running")]
    return found
