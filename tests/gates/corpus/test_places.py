"""Counting: places that are taken and not counted, counted and not taken, or that two take at once."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from submits.board import view_of
from submits.cluster import ApiCluster
from submits.cluster.reflector import Heard
from submits.cluster.seen import sources
from submits.gates import naming
from submits.gates.counting import run_of
from submits.gates.line import Memory, standings
from submits.gates.objects import reservation_body
from submits.gates.repair import Bookkeeping, Orphan, plan
from submits.gates.verdicts import Outcome
from submits.states import Reason
from tests.gates.corpus.seeing import look
from tests.gates.made import NOW, RULES, job, reservation, sight, ticket
from tests.gates.trying import FakeSubmit
from tests.gates.wire import Calm, later, wired
from tests.onebox.cluster.fixtures import RunningCluster, until
from tests.test_gatekeeper import Turns

GATE = naming.gate("default")


@pytest.fixture
def one(cluster: ApiCluster) -> Calm:
    return Calm(cluster)


def fill(one: Calm, *numbers: int) -> None:
    for number in numbers:
        one.finalizer(naming.run_id(f"other{number}"))


def test_after_a_restart_with_every_place_taken_nobody_is_admitted(one: Calm, server: RunningCluster) -> None:
    """Nothing is remembered, so nothing can be forgotten: each new process counts what is there."""
    fill(one, 1, 2, 3)
    for number in range(4):
        fresh = Calm(wired(server)[0], number + 10)
        assert fresh.admit().reason is Reason.WAITING_FOR_CAPACITY
    assert len(one.jobs()) == 3


def test_what_is_promised_and_does_not_run_yet_is_counted(one: Calm) -> None:
    for number in range(3):
        body = reservation_body(naming.run_id(f"other{number}"), f"openapi-{number}", number, one.rules, leashed=True)
        one.cluster.create("jobs", body)
    assert one.admit().reason is Reason.WAITING_FOR_CAPACITY


def test_every_count_is_taken_anew(one: Calm) -> None:
    fill(one, 1, 2, 3)
    assert one.admit().reason is Reason.WAITING_FOR_CAPACITY
    one.cluster.delete("jobs", naming.finalizer(naming.run_id("other2")))
    assert one.admit().outcome is Outcome.SUBMITTED
    assert Calm(one.cluster, 2).admit().reason is Reason.WAITING_FOR_CAPACITY


def test_at_no_revision_is_a_search_without_a_marker_that_counts(one: Calm) -> None:
    """From its announcement on: the old mark goes only when the new one is there."""
    version = one.cluster.list("jobs").version
    watched: list[set[str]] = []
    held: dict[str, str] = {}
    assert one.admit().outcome is Outcome.SUBMITTED
    for change in one.cluster.watch("jobs", version, naming.COUNTED, seconds=1):
        name = change.object["metadata"]["name"]
        held.pop(name, None)
        if change.type != "DELETED":
            held[name] = run_of(change.object)
        watched.append(set(held.values()))
    assert len(watched) >= 3
    assert all(runs == {one.what.run_id} for runs in watched)


def test_of_two_that_see_the_last_place_free_one_takes_it(one: Calm, server: RunningCluster) -> None:
    """Forced: the second takes the gate away, announces and counts while the first is between those two."""
    first_cluster, wire = wired(server)
    first, second = Calm(first_cluster, 1, ceiling=1), Calm(one.cluster, 2, ceiling=1)
    seen: list[Outcome] = []

    def overtake() -> None:
        one.cluster.delete("leases", GATE)
        seen.append(second.admit().outcome)

    wire.after("POST jobs", overtake)
    assert first.admit().outcome is Outcome.SHUT
    assert seen == [Outcome.SHUT]
    assert one.jobs() == []
    outcomes = [first.admit().outcome, second.admit().outcome]
    assert outcomes == [Outcome.SUBMITTED, Outcome.SHUT]
    assert one.jobs() == [naming.finalizer(first.what.run_id)]


def test_the_place_is_marked_first_then_looked_up_then_counted_then_proved(one: Calm, server: RunningCluster) -> None:
    """The order is the proof: whoever's LIST comes last has seen every other's mark."""
    watched, wire = wired(server)
    assert Calm(watched).admit(FakeSubmit(one.finalizer)).outcome is Outcome.SUBMITTED
    steps = ["POST jobs", "GET jobs.*(elb-finalizer|elb-job-id)", r"GET jobs\?.*app in", "PATCH leases"]
    at = [next(n for n, words in enumerate(wire.log()) if re.match(step, words)) for step in steps]
    assert at == sorted(at)


@pytest.mark.parametrize("step", ["GET jobs.*elb-job-id", "GET configmaps", r"GET jobs\?.*app in", "PATCH leases"])
def test_wherever_the_second_comes_in_the_ceiling_holds(one: Calm, server: RunningCluster, step: str) -> None:
    first_cluster, wire = wired(server)
    first, second = Calm(first_cluster, 1, ceiling=1), Calm(one.cluster, 2, ceiling=1)

    def overtake() -> None:
        one.cluster.delete("leases", GATE)
        second.admit()

    wire.before(step, overtake)
    first.admit(FakeSubmit(one.finalizer))
    assert len([name for name in one.jobs() if name.startswith("elb-finalizer")]) <= 1


def test_an_idle_finalizer_is_given_up_by_the_last_change_of_any_job_of_its_run(
    one: Calm, server: RunningCluster
) -> None:
    """Ended ones too, which the count's own LIST leaves out: so every door and every process gives the same answer."""
    run = naming.run_id("merging")
    one.finalizer(run)
    # The Job controller writes to it once more, and may be late.
    until(lambda: one.cluster.get("jobs", naming.finalizer(run)).object["status"].get("startTime"))
    later(server, 200)
    server.job("last-batch", "true", labels={"app": "blast", naming.ELB_JOB_ID: run})
    server.job_condition("last-batch", "Complete")
    later(server, 200)
    waiting = Calm(one.cluster, ceiling=1)
    assert waiting.admit().reason is Reason.WAITING_FOR_CAPACITY
    later(server, 200)
    assert waiting.admit().outcome is Outcome.SUBMITTED


@pytest.mark.django_db
def test_before_everything_has_been_listed_nothing_is_known(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that is cold is not an empty cluster: until the last source has been listed nobody is led through."""
    turns = Turns(cluster, monkeypatch)
    row = turns.waiting()
    for source in sources("default"):
        turns.keeper.looked = -100.0
        turns.keeper.turn()
        assert turns.woken.rows == []
        turns.keeper.heard.put(Heard(source.name, cluster.list(source.kind, source.labels, source.fields)))
        turns.keeper.listen()
    assert turns.turn() == [("search", row.pk)]


def test_a_place_shows_what_takes_it_since_when_and_why(one: Calm) -> None:
    """Never "3 of 3" over an empty list."""
    fill(one, 1, 2)
    announced = reservation_body(naming.run_id("other3"), "openapi-1", 3, one.rules, leashed=True)
    one.cluster.create("jobs", announced)
    seen = look(one.cluster, RULES)
    shown = view_of(seen, standings(seen, Memory()), set(), "dashboard", seen.date)
    assert (shown["active"], len(shown["slots"])) == (3, 3)
    assert {slot["what"] for slot in shown["slots"]} == {"running", "announced"}
    assert {slot["run_id"] for slot in shown["slots"]} == {naming.run_id(f"other{n}") for n in (1, 2, 3)}
    assert all(datetime.fromisoformat(slot["since"]) <= datetime.now(UTC) for slot in shown["slots"])


def test_what_is_shown_and_what_is_counted_come_from_one_source(one: Calm, server: RunningCluster) -> None:
    for number in range(4):
        shown = view_of(look(one.cluster, RULES), [], set(), "dashboard", NOW)
        told: list[tuple[int, int]] = []

        def report(phase: object, told: list[tuple[int, int]] = told, **facts: int) -> None:
            if "active" in facts:
                told.append((facts["active"], facts["ceiling"]))

        Calm(one.cluster, number).admit(report=report)
        assert told == [(shown["active"], shown["ceiling"])]


def test_no_reservation_without_a_living_attempt_grows_old() -> None:
    """Its search has ended, been evicted or never come: whatever it was, after two minutes unheld it goes."""
    left = reservation("job-1", "dashboard-1", age=9000)
    for jobs in ([left], [left, job("finalizer", "job-1", succeeded=1)], [left, job("finalizer", "job-1", active=1)]):
        books, seen = Bookkeeping(), sight(jobs=jobs)
        assert plan(seen, books, 0) == plan(seen, books, 119) == []
        (orphan,) = plan(seen, books, 120)
        assert isinstance(orphan, Orphan)
        assert orphan.run_id == "job-1"


def test_a_hundred_waiters_and_one_free_place_are_one_turn() -> None:
    full = [job("finalizer", f"job-x{n}", active=1) for n in range(2)]
    seen = sight(*(ticket(n) for n in range(1, 101)), jobs=full)
    assert [s.ticket.submission for s in standings(seen, Memory()) if s.turn] == ["s1"]


def test_of_many_waiters_on_one_place_one_is_admitted(server: RunningCluster, one: Calm) -> None:
    fill(one, 1, 2)
    outcomes: list[Outcome] = []

    def wait(number: int) -> Callable[[], None]:
        def run() -> None:
            mine = Calm(wired(server)[0], number + 20)
            for _ in range(20):
                verdict = mine.admit(FakeSubmit(one.finalizer))
                outcomes.append(verdict.outcome)
                if verdict.outcome is Outcome.SUBMITTED or verdict.reason is Reason.WAITING_FOR_CAPACITY:
                    return

        return run

    threads = [threading.Thread(target=wait(number)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(Outcome.SUBMITTED) == 1
    assert len(one.jobs()) == 3
