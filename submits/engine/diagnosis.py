"""What went wrong, told from what the cluster says of a Pod and what BLAST said itself: tables and lookups. Pure.

The sentences and classes of the reasons are in `states.REASONS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from submits.blast.findings import excerpt
from submits.gates.counting import role, run_of
from submits.gates.objects import created, parse_time
from submits.gates.ports import Object
from submits.states import REASONS, REASONS_OF, Reason, Status

Body = Mapping[str, Any]
LONGEST = 400  # characters of the cluster's words
PODLESS_AFTER = timedelta(seconds=60)  # a controller makes a Job's Pods within seconds
STARTED_WITHIN = timedelta(seconds=30)  # with its image on the node and its volumes at hand a Pod starts within seconds

# What a Pod is held up by before it runs: the word of a container that waits.
WAITING: dict[str, Reason] = {
    **dict.fromkeys(
        (
            "ImagePullBackOff",
            "ErrImagePull",
            "ErrImageNeverPull",
            "InvalidImageName",
            "ImageInspectError",
            "RegistryUnavailable",
        ),
        Reason.IMAGE_UNAVAILABLE,
    ),
    **dict.fromkeys(
        ("CreateContainerConfigError", "CreateContainerError", "RunContainerError"), Reason.CONTAINER_NOT_MADE
    ),
}
# A container that is yet to be made; the second word where others come first.
STARTING = ("ContainerCreating", "PodInitializing")
NETWORKED = "PodReadyToStartContainers"
# How a Pod, its container or its Job ended, in the cluster's word: of the Pod's status, of a terminated container, or
# of the condition DisruptionTarget.
ENDED: dict[str, Reason] = {
    "OOMKilled": Reason.OUT_OF_MEMORY,
    "DeadlineExceeded": Reason.DEADLINE_EXCEEDED,
    **dict.fromkeys(
        ("Evicted", "TerminationByKubelet", "EvictionByEvictionAPI", "PreemptionByScheduler", "Preempting"),
        Reason.EVICTED,
    ),
    **dict.fromkeys(
        (
            "NodeLost",
            "NodeShutdown",
            "Shutdown",
            "Terminated",
            "NodeAffinity",
            "DeletionByTaintManager",
            "DeletionByPodGC",
            "ContainerStatusUnknown",
        ),
        Reason.NODE_LOST,
    ),
    **dict.fromkeys(("ContainerCannotRun", "StartError", "CannotRun"), Reason.PROGRAM_MISSING),
}
# BLAST+'s own statuses are 0 to 6 and 255 (5 is its network's, which no search here asks for); above 128 a signal ended
# it. The first line that fits counts: what its words hold tells apart what one status stands for. 135 is SIGBUS: a
# mapped file is shorter than it was or should be, or could not be read.
_DATABASE = r"BLAST Database error|mdb_|CSeqDB|CSerialException|Blast-def-line"
EXITS: tuple[tuple[tuple[int, ...], str, Reason], ...] = (
    ((1, 2, 3, 4, 134, 137, 255), r"bad_alloc|[Oo]ut of memory|[Cc]annot allocate memory", Reason.OUT_OF_MEMORY),
    ((1,), r"CFastaReader|BLAST query error", Reason.QUERY_REFUSED),
    ((1,), r"File is not accessible", Reason.FILES_UNREACHABLE),
    ((1,), r"options error|argument|Argument", Reason.OPTION_REFUSED),
    ((1,), r"", Reason.BLAST_REFUSED),
    ((2,), r"Taxonomy|[Tt]axid", Reason.TAXONOMY_UNKNOWN),
    ((2,), r"", Reason.DATABASE_UNREADABLE),
    ((3,), r"contains no data|Empty CBlastQueryVector", Reason.QUERY_REFUSED),
    ((3,), r"", Reason.ENGINE_FAILED),
    ((4,), r"", Reason.OUT_OF_MEMORY),
    ((6,), r"", Reason.FILES_UNREACHABLE),
    ((126, 127), r"", Reason.PROGRAM_MISSING),
    ((135,), r"", Reason.DATABASE_UNREADABLE),
    ((139, 255), _DATABASE, Reason.DATABASE_UNREADABLE),
    ((137,), r"", Reason.KILLED),
    ((130, 143), r"", Reason.STOPPED),
)
# With these BLAST has judged the batch, and would judge it so again.
DETERMINED = frozenset(
    {
        Reason.QUERY_REFUSED,
        Reason.OPTION_REFUSED,
        Reason.BLAST_REFUSED,
        Reason.DATABASE_UNREADABLE,
        Reason.TAXONOMY_UNKNOWN,
        Reason.PROGRAM_MISSING,
    }
)
# What the system says of a volume, a disk or a node that may be well again a moment later.
_PASSING = r"temporarily unavailable|Input/output error|No space left|[Ss]tale (NFS )?file handle|timed out"
# What a search that was held up ends as, when the cluster gives its Job up.
_AT_LAST = {
    Reason.EVICTED: Reason.PODS_LOST,
    Reason.NODE_LOST: Reason.PODS_LOST,
    Reason.UNSCHEDULABLE: Reason.DEADLINE_EXCEEDED,
    Reason.IMAGE_UNAVAILABLE: Reason.DEADLINE_EXCEEDED,
    Reason.CONTAINER_NOT_MADE: Reason.DEADLINE_EXCEEDED,
    Reason.NO_POD: Reason.DEADLINE_EXCEEDED,
    Reason.START_DELAYED: Reason.DEADLINE_EXCEEDED,
}
# Of several things that hold a search up, the one that most needs somebody.
_FIRST = (
    Reason.IMAGE_UNAVAILABLE,
    Reason.CONTAINER_NOT_MADE,
    Reason.UNSCHEDULABLE,
    Reason.START_DELAYED,
    Reason.NODE_LOST,
    Reason.EVICTED,
    Reason.POD_RETRIED,
)


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Why a search that runs does not get on, with the cluster's words on one line."""

    reason: Reason
    words: str


def diagnose(status: Body, exit: int | None = None, stderr: str = "") -> Reason:
    """The reason that a Pod's status, its program's exit status (None: not known) and the end of its standard error
    make; NONE when nothing is wrong. What the cluster did to the Pod counts before what the program said."""
    if word := word_of(status):
        return ENDED.get(word) or WAITING[word]
    if exit is None:
        return Reason.UNSCHEDULABLE if _unscheduled(status) is not None else Reason.NONE
    return of_exit(exit, stderr)


def of_exit(status: int, stderr: str) -> Reason:
    """The reason of a program's exit status: BLAST's own, or 128 + signal."""
    if status == 0:
        return Reason.NONE
    fits = (reason for statuses, words, reason in EXITS if status in statuses and re.search(words, stderr))
    return next(fits, Reason.CRASHED)


def is_determined(status: int, stderr: str) -> bool:
    """Whether the same batch would end so again, and is not worth its further tries.

    A signal and 255 are no judgement of BLAST's: one read that fails on a volume over the network ends it so, and a
    damaged database does too; the reason is then of the last try.
    """
    return status < 128 and of_exit(status, stderr) in DETERMINED and not re.search(_PASSING, stderr)


def at_last(reason: Reason) -> Reason:
    """The reason of a search that has failed by it."""
    last = _AT_LAST.get(reason, reason)
    return last if last in REASONS_OF[Status.FAILED] else Reason.SEARCH_FAILED


def exit_of(status: Body) -> int | None:
    """The exit status of a Pod's container that ended last."""
    codes = [container["exitCode"] for container in _terminated(status) if "exitCode" in container]
    return int(codes[-1]) if codes else None


def held_up(pods: Iterable[Body], now: datetime) -> HeldUp | None:
    """What holds the Pods of a run up: of each Job's latest Pod, and of those what most needs somebody. None: nothing.

    A Pod that is new waits for its node and its container too; that is said only when the cluster gives a reason, or
    when it takes long. `now` is the API server's clock.
    """
    latest: dict[str, Body] = {}
    for pod in sorted(pods, key=_age):
        latest[(pod["metadata"].get("labels") or {}).get("job-name", "")] = pod
    found = [held for pod in latest.values() if (held := _held(pod.get("status") or {}) or _delayed(pod, now))]
    return min(found, key=lambda held: _FIRST.index(held.reason), default=None)


def podless(jobs: Iterable[Object], now: datetime) -> dict[str, HeldUp]:
    """By run, that the cluster makes no Pod for a Job of it: a policy, a quota, or nobody who makes them.

    By the Job's own status, for there is no Pod to look at, and the events that say why are not ours to read. `now` is
    the API server's clock.
    """
    waits = (job for job in jobs if run_of(job) and not role(job) and _never_had_pod(job.get("status") or {}))
    long = (job for job in waits if (made := created(job)) and now - made > PODLESS_AFTER)
    # Of several the first by name, so that a look says what the last one said.
    names = {run_of(job): job["metadata"]["name"] for job in sorted(long, key=_name, reverse=True)}
    said = "There is no Pod for the Job {0}: “kubectl describe job {0}” says why."
    return {run_id: HeldUp(Reason.NO_POD, said.format(name)) for run_id, name in names.items()}


def word_of(status: Body) -> str:
    """The cluster's one word of a Pod's trouble that the tables know; "" if there is none."""
    known = [word for word in _ends(status) if word in ENDED]
    return next(iter([*known, *(word for word, _ in _waits(status) if word in WAITING)]), "")


def words_of(status: Body) -> str:
    """The cluster's own words of a Pod's trouble, on one line; "" if it has none."""
    unscheduled = _unscheduled(status)
    waits = [f"{word}: {message}" if message else word for word, message in _waits(status) if word in WAITING]
    ends = [str(container.get("message") or "") for container in _terminated(status)]
    told = [*waits, unscheduled or "", str(status.get("message") or ""), *ends]
    return excerpt(next(filter(None, told), ""), LONGEST)


def _held(status: Body) -> HeldUp | None:
    phase = status.get("phase")
    if phase not in ("Pending", "Failed"):
        return None
    reason = diagnose(status, exit_of(status))
    if reason is Reason.NONE:
        return None
    if reason in _FIRST:
        return HeldUp(reason, words_of(status))
    told = REASONS[reason].sentence if reason in (Reason.OUT_OF_MEMORY, Reason.KILLED) else words_of(status)
    return HeldUp(Reason.POD_RETRIED, told)


def _delayed(pod: Body, now: datetime) -> HeldUp | None:
    """That a Pod has had its node for long, and no container of it is made. One that is being deleted never will be.

    Why is in the events of its node, which are not ours to read; but the kubelet's own condition tells half of it. It
    is False until the Pod's volumes are mounted and its network is there, and True while images are fetched:
    https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-has-network. Before 1.29 there is none. Of a
    Pod that its kubelet has not seen yet no container has a status.
    """
    if pod["metadata"].get("deletionTimestamp"):
        return None
    status = pod.get("status") or {}
    states = [container.get("state") or {} for container in _containers(status)]
    made = any("running" in state for state in states)
    waits = not states or any((state.get("waiting") or {}).get("reason") in STARTING for state in states)
    since = [parse_time(ended.get("finishedAt")) for ended in _terminated(status)]  # the containers that come first
    since += [parse_time(c.get("lastTransitionTime")) for c in _conditions(status, "PodScheduled", "True")]
    times = [time for time in since if time]
    if status.get("phase") != "Pending" or made or not waits or not times or now - max(times) <= STARTED_WITHIN:
        return None
    if not states:
        what = "its node has not said anything yet"
    elif _conditions(status, NETWORKED, "False"):
        what = "its volumes are not mounted yet, or it has no network yet"
    elif _conditions(status, NETWORKED, "True"):
        what = "the image that it runs in is being fetched"
    else:
        what = "a volume is not mounted yet, or the image that it runs in is being fetched"
    name = _name(pod)
    return HeldUp(Reason.START_DELAYED, f"Of the Pod {name}, {what}: “kubectl describe pod {name}” says more.")


def _conditions(status: Body, kind: str, value: str) -> list[Body]:
    return [c for c in status.get("conditions") or () if (c.get("type"), c.get("status")) == (kind, value)]


def _name(body: Body) -> str:
    return str(body["metadata"]["name"])


def _never_had_pod(status: Body) -> bool:
    """By a Job's status: none is counted in any way, and neither is it suspended nor has it ended."""
    counts = ("active", "terminating", "succeeded", "failed", "uncountedTerminatedPods")
    true = any(condition.get("status") == "True" for condition in status.get("conditions") or ())
    return not true and not any(status.get(count) for count in counts)


def _age(pod: Body) -> tuple[str, bool]:
    """By the second it was made in; of two of one second the one that has not failed is the later."""
    return str(pod["metadata"].get("creationTimestamp") or ""), (pod.get("status") or {}).get("phase") != "Failed"


def _ends(status: Body) -> Iterator[str]:
    yield str(status.get("reason") or "")
    for condition in _conditions(status, "DisruptionTarget", "True"):
        yield str(condition.get("reason") or "")
    for container in _terminated(status):
        yield str(container.get("reason") or "")


def _containers(status: Body) -> Iterator[Body]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from status.get(kind) or ()


def _terminated(status: Body) -> Iterator[Body]:
    for container in _containers(status):
        if ended := (container.get("state") or {}).get("terminated"):
            yield ended


def _waits(status: Body) -> Iterator[tuple[str, str]]:
    for container in _containers(status):
        if waiting := (container.get("state") or {}).get("waiting"):
            yield str(waiting.get("reason") or ""), str(waiting.get("message") or "")


def _unscheduled(status: Body) -> str | None:
    """The scheduler's words when it has found no node; None when it has, or has not looked yet."""
    for condition in _conditions(status, "PodScheduled", "False"):
        return str(condition.get("message") or condition.get("reason") or "")
    return None
