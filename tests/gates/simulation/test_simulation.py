"""Product code, unchanged, under a deterministic scheduler: whatever befalls whom and when, I1 to I12 hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from submits.gates.verdicts import Outcome
from tests.gates.simulation.known import KNOWN, LIMITS
from tests.gates.simulation.schedule import Schedule
from tests.gates.simulation.searching import ALL, schedules
from tests.gates.simulation.world import Ran, play
from tests.world import SCALE

Note = Callable[[str, object], None]
# The same schedules every time in `make test`, others in every longer run.
SEARCH = settings(
    deadline=None,
    derandomize=SCALE == 1,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink],
)


class Total:
    def __init__(self) -> None:
        self.runs = self.steps = self.revisions = self.struck = 0
        self.simulated = 0.0
        self.verdicts: Counter[Outcome] = Counter()

    def add(self, ran: Ran) -> None:
        self.runs += 1
        self.steps += ran.steps
        self.revisions += ran.revisions
        self.struck += ran.struck
        self.simulated += ran.seconds
        self.verdicts.update(ran.verdicts)


@pytest.fixture(scope="module")
def total() -> Iterator[Total]:
    yield Total()


def holds(schedule: Schedule, total: Total) -> None:
    ran = play(schedule)
    total.add(ran)
    assert not ran.violation, str(ran)


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_schedule_holds(name: str, total: Total) -> None:
    holds(KNOWN[name], total)


@pytest.mark.parametrize("name", LIMITS)
def test_a_stated_limit_is_seen(name: str) -> None:
    schedule, broken = LIMITS[name]
    seen = play(schedule, even=broken).violation
    assert seen.startswith(broken), seen
    assert play(schedule).violation == ""


def test_one_schedule_is_one_run() -> None:
    """Else no failure could be played again."""
    schedule = KNOWN["nothing happens, beside an older door"]
    assert play(schedule) == play(schedule)


def test_ours_alone_whatever_happens(total: Total) -> None:
    @settings(SEARCH, max_examples=50 * SCALE**2)
    @given(schedules())
    def search(schedule: Schedule) -> None:
        holds(schedule, total)

    search()


def test_ours_beside_an_older_door(total: Total) -> None:
    @settings(SEARCH, max_examples=20 * SCALE**2)
    @given(schedules(roles=ALL, older=2, most=3))
    def search(schedule: Schedule) -> None:
        holds(schedule, total)

    search()


def test_what_has_been_searched(total: Total, note: Note) -> None:
    """Runs last. A search that met nothing would prove nothing."""
    missing = {Outcome.SUBMITTED, Outcome.SHUT, Outcome.NOTHING, Outcome.UNKNOWN, Outcome.BACK} - total.verdicts.keys()
    assert not missing
    told = ", ".join(f"{outcome} {number}" for outcome, number in sorted(total.verdicts.items()))
    note("simulation: runs, steps, revisions checked", f"{total.runs}, {total.steps}, {total.revisions}")
    note("simulation: faults met, hours simulated", f"{total.struck}, {total.simulated / 3600:.1f}")
    note("simulation: verdicts", told)
