"""A search that cannot fail proves nothing: with one rule taken away, it finds what the rule is there for.

Each search is narrowed to the blows that its rule is about, has the same budget, and must meet the invariant named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from submits.gates import admission, announcing, counting, hold, line, objects, repair, settling
from submits.gates.attempt import Attempt
from submits.gates.census import Count
from submits.gates.hold import Busy, Hold
from submits.gates.markers import Mark, Unmark
from submits.gates.objects import Gate
from submits.gates.ports import ClusterError, Object, Times
from submits.gates.verdicts import Verdict
from submits.states import Reason
from tests.gates.simulation import parties
from tests.gates.simulation.clockwork import SimulatedClock
from tests.gates.simulation.parties import Worker
from tests.gates.simulation.schedule import Blow, Schedule, What
from tests.gates.simulation.searching import schedules
from tests.gates.simulation.world import Ran, play

BUDGET = 60
Patch = pytest.MonkeyPatch
Note = Callable[[str, object], None]
W = What
STOPS = (W.STOP_BEFORE, W.STOP_AFTER)
CRASHES = (W.CRASH_BEFORE, W.CRASH_AFTER)


def no_announcement(patch: Patch) -> None:
    def announce(attempt: Attempt) -> None:
        attempt.announced = attempt.clock.boot()

    patch.setattr(admission, "announce", announce)


def no_look_up(patch: Patch) -> None:
    patch.setattr(admission, "was_submitted", lambda attempt, then: then(attempt))


def no_proof(patch: Patch) -> None:
    """Nor does the database tell whose claim it is: it may be down."""
    patch.setattr(admission, "prove", lambda attempt: None)
    patch.setattr(Worker, "report", lambda *_, **__: None)


def no_uid(patch: Patch) -> None:
    whole = objects.gate_body

    def body(*facts: Any) -> Object:
        made = whole(*facts)
        made["metadata"].pop("uid", None)
        return made

    patch.setattr(hold, "gate_body", body)


def one_too_many(patch: Patch) -> None:
    """`>` in place of `>=`."""
    whole = announcing.counted

    def counted(attempt: Attempt) -> Count:
        found = whole(attempt)
        return replace(found, places=found.places - 1)

    patch.setattr(announcing, "counted", counted)


def no_test(patch: Patch) -> None:
    whole = Hold.mine_then
    patch.setattr(Hold, "mine_then", lambda *facts: whole(*facts)[1:])


def release_before_ticket(patch: Patch) -> None:
    whole = Attempt.leave_line

    def leave_line(attempt: Attempt) -> None:
        attempt.hold.release()
        whole(attempt)

    patch.setattr(Attempt, "leave_line", leave_line)


def unreserved_before_settled(patch: Patch) -> None:
    whole = settling.settle

    def settle(attempt: Attempt) -> Verdict:
        attempt.unreserve()
        return whole(attempt)

    patch.setattr(admission, "settle", settle)


def own_time(patch: Patch) -> None:
    patch.setattr(Hold, "server_now", lambda self: self.clock.wall())


def no_expiry(patch: Patch) -> None:
    patch.setattr(Gate, "patience", lambda gate, rules: 1e8)  # seconds


def unknown_is_busy(patch: Patch) -> None:
    whole = Hold.take

    def take(own: Hold) -> None:
        try:
            whole(own)
        except ClusterError as error:
            raise Busy(str(error)) from error

    patch.setattr(Hold, "take", take)


def another_token(patch: Patch) -> None:
    whole = Hold.take

    def take(own: Hold) -> None:
        whole(own)
        own.token -= 1

    patch.setattr(Hold, "take", take)


def pins_stay(patch: Patch) -> None:
    whole = repair.carry_out
    patch.setattr(repair, "carry_out", lambda act, *rest: isinstance(act, Unmark) or whole(act, *rest))


def no_pins(patch: Patch) -> None:
    whole = repair.carry_out
    patch.setattr(repair, "carry_out", lambda act, *rest: isinstance(act, Mark) or whole(act, *rest))


def no_work_no_place(patch: Patch) -> None:
    def phantoms(jobs: list[Object], *_: object) -> list[Object]:
        busy = {counting.id_of(job) for job in counting.live(jobs) if counting.is_work(job)}
        return [job for job in counting.live(jobs) if counting.is_finalizer(job) and counting.id_of(job) not in busy]

    patch.setattr(counting, "phantoms", phantoms)


def no_reason(patch: Patch) -> None:
    patch.setattr(line, "why", lambda *_: Reason.NONE)


class OwnClock(SimulatedClock):
    def boot(self) -> float:
        return super().boot() + self.process.offset


def own_clock(patch: Patch) -> None:
    """Between two answers the server's time is guessed by the wall clock of whoever asked."""
    patch.setattr(parties, "SimulatedClock", OwnClock)


def nothing(patch: Patch) -> None:
    """What is taken away is a time, or the leash."""


@dataclass(frozen=True)
class Removal:
    take_away: Callable[[Patch], None]
    found: frozenset[str]
    among: SearchStrategy[Schedule]
    times: Times = Times()  # noqa: RUF009  # frozen
    leash_holds: bool = True


def among(*whats: What, role: str = "worker", **facts: Any) -> SearchStrategy[Schedule]:
    facts = {"leashed": True, "parties": 1, "ceiling": 1, "ours": 2, "numbers": 1, **facts}
    return schedules(roles=(role,), whats=whats or tuple(What), deeds=(), **facts)


# The holder falls silent at its first heartbeat; what its submit sends then is long on the way.
LONG_ON_THE_WAY = (Blow("submit", 0, 0, W.LATE, 2), Blow("submit", 0, 1, W.LATE, 2))
SILENT = Blow("worker", 0, 7, W.STOP_BEFORE, 2)
DEAD_SILENT = Blow("worker", 0, 7, W.STOP_BEFORE, 5)
SET_ON = tuple(Blow("gatekeeper", 0, request, W.CLOCK, 5) for request in range(20, 90, 2))
# Between its count and what would be S7, until everybody may take its gate: nothing else holds an unleashed one back.
STOPPED_FOR_LONG = Blow("worker", 0, 5, W.STOP_AFTER, 6)

NAMED: dict[str, Removal] = {
    "S5": Removal(no_announcement, frozenset({"I1", "I3"}), among(most=0)),
    "S6's look-up": Removal(no_look_up, frozenset({"I6"}), among(W.TWICE, least=1)),
    "S7": Removal(no_proof, frozenset({"I2", "I3"}), among(leashed=False, ceiling=2, base=(STOPPED_FOR_LONG,), most=0)),
    "uid": Removal(no_uid, frozenset({"I4"}), among(W.GATE_GONE, least=1, numbers=2, first=1, last=2)),
    ">=": Removal(
        one_too_many, frozenset({"I1"}),
        among(W.HALF_OPEN, role="gatekeeper", least=1, most=1, first=5, last=9),
    ),
    "the test of the patches": Removal(no_test, frozenset({"I4"}), among(*STOPS, least=1, first=3, last=9)),
    "expiry": Removal(no_expiry, frozenset({"I8"}), among(*CRASHES, least=1, most=1, first=2, last=6)),
    "unknown is a third answer": Removal(
        unknown_is_busy, frozenset({"I11"}), among(W.LATE, W.UNAVAILABLE, least=1, most=1, last=0)
    ),
    "a token names its hold": Removal(another_token, frozenset({"I5"}), among(most=0)),
    "pins go with their finalizers": Removal(pins_stay, frozenset({"I9"}), among(most=0, older=1)),
    "pins": Removal(no_pins, frozenset({"I10"}), among(most=0, older=2)),
    "a finalizer that merges is no phantom": Removal(no_work_no_place, frozenset({"I10"}), among(most=0)),
    "a wait has its reason": Removal(no_reason, frozenset({"I12"}), among(most=0)),
    "S10 before S11": Removal(release_before_ticket, frozenset({"I7"}), among(most=0)),
    "S9: look up, then unmark": Removal(
        unreserved_before_settled, frozenset({"I1", "I3"}), among(base=(SILENT, *LONG_ON_THE_WAY), most=0)
    ),
    "the leash": Removal(
        nothing, frozenset({"I2"}), among(*CRASHES, ceiling=2, least=1, first=7, last=8), leash_holds=False
    ),
    "the server's time in renewTime": Removal(
        own_time, frozenset({"I2", "I4"}), among(W.CLOCK, least=1, numbers=2, last=2, older=2)
    ),
    "the server's time between two answers": Removal(own_clock, frozenset({"I1"}), among(base=SET_ON, most=0, older=2)),
    "repair waits for what is in flight": Removal(
        nothing,
        frozenset({"I1", "I3"}),
        among(base=(DEAD_SILENT, *LONG_ON_THE_WAY), most=0),
        times=replace(Times(), repair_after_takeover=0.0),
    ),
    "a fast takeover waits for the leash": Removal(
        nothing, frozenset({"I2", "I4"}), among(*STOPS, least=1, first=3, last=9),
        times=replace(Times(), fast_takeover=20.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", NAMED)
def test_without_a_rule_what_it_prevents_is_found(rule: str, monkeypatch: Patch, note: Note) -> None:
    removal = NAMED[rule]
    removal.take_away(monkeypatch)
    ran: list[Ran] = []

    def breaks(schedule: Schedule) -> bool:
        ran.append(play(schedule, removal.times, leash_holds=removal.leash_holds))
        return ran[-1].violation.partition(":")[0] in removal.found

    search = settings(
        max_examples=BUDGET,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        find(removal.among, breaks, settings=search)
        note(f"simulation: without {rule}", f"{ran[-1].violation[:60]}... after {len(ran)} runs")
    except NoSuchExample:
        others = {one.violation.partition(":")[0] for one in ran} - {""}
        pytest.fail(f"without {rule}, {len(ran)} runs found nothing but {others}")
