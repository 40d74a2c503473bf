"""Waiting: a first that never moves, a newcomer that pushes others out, a waiter nobody wakes."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator

import pytest

from submits.cluster import ApiCluster
from submits.cluster.reflector import Heard, Reflector, Source
from submits.gates import naming
from submits.gates.line import Memory, advance, standings
from submits.gates.ports import Change, Kind, Listing, NotFound
from submits.gates.verdicts import Outcome
from tests.gates.corpus.seeing import look, stand_in_line
from tests.gates.made import RULES, job, lease, sight, ticket
from tests.gates.wire import Calm
from tests.world import SCALE

WAITERS = 40 * SCALE


def test_a_first_that_does_not_act_costs_its_ten_seconds_once() -> None:
    """Whatever keeps it: nobody judges, everybody measures; and behind it there is always a next one."""
    seen = sight(*(ticket(n, "openapi") for n in range(5)), ticket(9))
    memory, now = Memory(), 0.0
    while "s9" not in (turns := [s.ticket.submission for s in standings(seen, memory) if s.turn]):
        memory = advance(memory, seen, now)
        now += 0.25
        assert turns
        assert now < 60
    assert RULES.times.skip_after + 4 * RULES.times.skip_again <= now <= RULES.times.skip_after + 4 + 3


def test_a_newcomer_pushes_nobody_out(cluster: ApiCluster) -> None:
    """However many come, and however late: every ticket stands, in the order in which they came."""
    for number in range(WAITERS):
        stand_in_line(Calm(cluster, number))
    queue_seen = look(cluster, RULES).queue
    assert [t.submission for t in queue_seen] == [f"s{number}" for number in range(WAITERS)]
    for number in range(3):
        assert [s.ticket.submission for s in standings(look(cluster, RULES), Memory()) if s.turn] == [f"s{number}"]
        assert Calm(cluster, number).admit().outcome is Outcome.SUBMITTED
        cluster.delete("jobs", naming.finalizer(naming.run_id(f"s{number}")))
    assert len(look(cluster, RULES).queue) == WAITERS - 3


class Mute(ApiCluster):
    """A cluster whose watches tell nothing."""

    def watch(
        self, kind: Kind, version: str, labels: str = "", fields: str = "", seconds: int = 30
    ) -> Iterator[Change]:
        time.sleep(0.2)
        yield from ()


def test_what_no_event_tells_is_found_by_looking_again(cluster: ApiCluster) -> None:
    heard: queue.Queue[Heard] = queue.Queue()
    mute = Mute(cluster.transport, cluster.namespace)
    reflector = Reflector(Source("tickets", "leases", naming.TICKETS), mute, heard, resync=1)
    reflector.start()
    first = heard.get(timeout=10).what
    assert isinstance(first, Listing)
    stand_in_line(Calm(cluster))
    found: list[str] = []
    while not found:
        again = heard.get(timeout=10).what
        assert isinstance(again, Listing)
        found = [lease["metadata"]["name"] for lease in again.items]
    reflector.stop()
    reflector.join(10)
    assert found == [naming.ticket("s1")]


def test_when_a_leader_leaves_the_next_may_act_at_once_and_when_it_dies_in_time() -> None:
    """Nobody has to be told and nothing has to be reset: the next look says whose turn it is."""
    free = sight(ticket(1), ticket(2), gate=lease("", renewed=1))
    assert [place.turn for place in standings(free, Memory())] == [True, False]
    for leashed, patience in ((True, 65), (False, 930)):
        for age, turn in ((patience - 1, False), (patience + 1, True)):
            dead = sight(ticket(1), gate=lease("dashboard-1", renewed=age, leashed=leashed))
            assert [place.turn for place in standings(dead, Memory())] == [turn]


def test_a_place_that_comes_free_is_the_firsts_and_no_quick_pollers() -> None:
    full = [job("finalizer", f"job-x{n}", active=1) for n in range(3)]
    waiting = sight(ticket(4), ticket(2), ticket(3), jobs=full)
    assert not any(place.turn for place in standings(waiting, Memory()))
    freed = sight(ticket(4), ticket(2), ticket(3), jobs=full[:2])
    assert [s.ticket.submission for s in standings(freed, Memory()) if s.turn] == ["s2"]


def test_a_ticket_that_somebody_deleted_is_only_a_place_and_the_search_goes_on(cluster: ApiCluster) -> None:
    one = Calm(cluster)
    stand_in_line(one)
    cluster.delete("leases", naming.ticket("s1"))
    assert one.admit().outcome is Outcome.SUBMITTED
    with pytest.raises(NotFound):
        cluster.get("leases", naming.ticket("s1"))
