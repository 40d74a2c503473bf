"""The admission, S3 to S11, every interleaving of small worlds: what holds, what each rule is for, and the limits.

A world is two to four searches, one gate, one count and a ceiling. A step is one request or one write of a submit. What
is not in it: time (a rule of seconds stands as what it is there for: `model/test_times.py` shows that the seconds keep
that), the line (any waiter may act: `model/test_turns.py` is the line), splits (`model/test_split.py`), answers that
are lost, quotas and refusals, phantoms, a restored cluster, an exit 0 without a finalizer, a third attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.gates.model.around import WRONGED
from tests.gates.model.party import Faults, Rules
from tests.gates.model.search import Explored
from tests.gates.model.together import CEILING, LINE, OVERLAP, UNMARKED, State, Together
from tests.gates.model.v2 import STALE, TWICE
from tests.world import SCALE

Note = Callable[[str, object], None]
LEASHED = Rules()
UNLEASHED = Rules(leash=False)
NO_LEASE = Rules(leash=False, fence=False)  # nobody asks the gate for anything after taking it
ANY = Faults("any", crashes=1, restarts=True)
EVERYTHING = replace(ANY, in_flight=True, failures=True)


def told(model: Together, found: Explored[State], what: str) -> str:
    return f"{what}:\n{model.tell(found.broken[what])}" if what in found.broken else ""


def clean(note: Note, words: str, model: Together, *allowed: str) -> None:
    """Nothing is broken in any state, apart from what is `allowed` and must be found: a limit, said in the test."""
    found = model.explore()
    note(f"model: {words}", found)
    for what in found.broken:
        assert what in allowed, told(model, found, what)
    assert found.broken.keys() == set(allowed)


@pytest.mark.parametrize("ceiling", [1, 2])
@pytest.mark.parametrize("faults", [replace(ANY, crashes=0), replace(EVERYTHING, crashes=0)], ids=["any", "in flight"])
def test_ours_with_false_expiry_keep_every_promise(note: Note, ceiling: int, faults: Faults) -> None:
    """Leashed, and anybody's hold may be said to have expired at any moment once its submit is dead."""
    words = f"v2 x 3, ceiling {ceiling}, false expiry{', requests in flight, failures' if faults.in_flight else ''}"
    clean(note, words, Together("222", ceiling, LEASHED, faults))


def test_ours_with_crashes_and_restarts_keep_every_promise_with_the_leash(note: Note) -> None:
    """Ceiling, marker, one submit at a time, none twice; the restarted search has the same run id."""
    clean(note, "v2 x 3, false expiry, a crash, a restart", Together("222", 2, LEASHED, ANY))
    clean(note, "v2 x 2, false expiry, crashes, restarts", Together("22", 1, LEASHED, replace(ANY, crashes=2)))
    clean(note, "v2 x 3, crashes, restarts", Together("222", 2, LEASHED, Faults("dead", 3, True)))


def test_limit_without_the_leash_two_submits_overlap(note: Note) -> None:
    """An orphan outlives its holder, a frozen one goes on after a takeover. Ceiling and markers hold even so."""
    clean(note, "v2 x 3 unleashed, false expiry, a crash, a restart", Together("222", 2, UNLEASHED, ANY), OVERLAP)
    clean(note, "v2 x 2 unleashed, one place", Together("22", 1, UNLEASHED, replace(EVERYTHING, crashes=2)))


def test_limit_without_the_leash_a_run_is_submitted_twice_if_s6_goes_on_beside_its_earlier_attempt(note: Note) -> None:
    """Either of the two keeps a run from being submitted twice; the second costs it the wait for the repair."""
    hasty = replace(UNLEASHED, waits_for_earlier=False)
    clean(note, "v2 x 3 unleashed and hasty", Together("222", 2, hasty, ANY), OVERLAP, TWICE)
    clean(note, "v2 x 2 unleashed and hasty", Together("22", 1, hasty, replace(EVERYTHING, crashes=2)), OVERLAP, TWICE)


def test_the_ceiling_does_not_need_the_gate(note: Note) -> None:
    """Without leash and fence the gate protects nothing: announcing before counting is enough for the ceiling."""
    clean(note, "v2 x 3 without a fence", Together("222", 2, NO_LEASE, replace(ANY, crashes=0)), OVERLAP)
    clean(note, "v2 x 2 without a fence, crashes", Together("22", 1, NO_LEASE, replace(ANY, crashes=2)))


def test_a_request_in_flight_past_the_takeover_submits_nothing_twice(note: Note) -> None:
    """A killed submit's last request may arrive 60 s later, when its restarted search would have looked its id up
    already: S6 does not go on while the earlier attempt's reservation stands."""
    faults = Faults("dead", crashes=1, restarts=True, in_flight=True)
    clean(note, "v2 x 2, a request in flight past a restart", Together("22", 1, LEASHED, faults))
    clean(note, "v2 x 2, the same, 2 crashes", Together("22", 1, LEASHED, replace(EVERYTHING, crashes=2)))


def test_limit_an_operator_who_deletes_the_lease_lets_two_submits_overlap(note: Note) -> None:
    """And no more than that: the ceiling holds, nothing is submitted twice, no stale write is accepted."""
    clean(note, "v2 x 3, the Lease is deleted", Together("222", 2, LEASHED, Faults("any", deletes=True)), OVERLAP)


# Where one rule hides what another is for.
HASTY = replace(LEASHED, waits_for_earlier=False)
REMOVED = {
    "S5 left out": (UNLEASHED, replace(UNLEASHED, announces=False), "any", CEILING),
    "S5 after S6 and S7": (UNLEASHED, replace(UNLEASHED, announces_first=False), "any", CEILING),
    "S6 does not look its id up": (LEASHED, replace(LEASHED, looks_up=False), "restart", TWICE),
    "S6 goes on beside its earlier attempt": (
        LEASHED,
        replace(LEASHED, waits_for_earlier=False),
        "restart in flight",
        TWICE,
    ),
    "S6 admits at the ceiling": (LEASHED, replace(LEASHED, denies_at_ceiling=False), "none", CEILING),
    "S7 left out": (UNLEASHED, replace(UNLEASHED, fence=False), "paused", OVERLAP),
    "S7 without its test": (UNLEASHED, replace(UNLEASHED, fence_tests_holder=False), "paused", OVERLAP),
    "S8 starts however late": (LEASHED, replace(LEASHED, late_start_refused=False), "any", OVERLAP),
    "S8 without a leash": (LEASHED, replace(LEASHED, leash=False), "any", OVERLAP),
    "S8 without a leash, restarted": (HASTY, replace(HASTY, leash=False), "restart", TWICE),
    "S9 before the submit is reaped": (LEASHED, replace(LEASHED, reaps_first=False), "none", CEILING),
    "S9 before requests have arrived": (LEASHED, replace(LEASHED, quiet_after_kill=False), "in flight", CEILING),
    "S11 before S10": (LEASHED, replace(LEASHED, leaves_before_release=False), "none", LINE),
    "S11 without its test": (LEASHED, replace(LEASHED, release_tests_holder=False), "any", OVERLAP),
    "S3 without uid": (LEASHED, replace(LEASHED, uid=False), "deletes", STALE),
    "repair too early": (LEASHED, replace(LEASHED, repair_waits=False), "dead in flight", CEILING),
    "repair too early, marker": (LEASHED, replace(LEASHED, repair_waits=False), "dead in flight", UNMARKED),
    "repair asks for the gate only once": (HASTY, replace(HASTY, repair_asks_twice=False), "restart", WRONGED),
}
WORLDS = {
    "none": Faults(),
    "any": Faults("any"),
    "paused": Faults("paused"),
    "in flight": Faults("any", in_flight=True),
    "dead in flight": Faults("dead", crashes=1, in_flight=True),
    "restart": Faults("orphan", crashes=1, restarts=True),
    "restart in flight": Faults("dead", crashes=1, restarts=True, in_flight=True),
    "deletes": Faults("any", deletes=True),
}


@pytest.mark.parametrize("name", REMOVED)
def test_without_a_rule_what_it_is_for_is_broken(note: Note, name: str) -> None:
    """Two searches. The same world with the rule is searched to its end, and the rule's subject is not broken there."""
    rules, without, world, what = REMOVED[name]
    ceiling = 2 if what == OVERLAP else 1
    model = Together("22", ceiling, rules, WORLDS[world])
    assert not told(model, model.explore(), what)

    model = Together("22", ceiling, without, WORLDS[world])
    found = model.explore(what)

    assert what in found.broken
    steps = model.tell(found.broken[what]).splitlines()
    assert len(steps) == len(found.broken[what])
    note(f"model: {name}", f"{what}, in {len(steps)} steps")


CALM = {
    "false expiry, crashes, restarts": ("22", 1, LEASHED, replace(EVERYTHING, crashes=2)),
    "v2 x 3, a crash": ("222", 2, LEASHED, replace(EVERYTHING, expiry="dead")),
    "v2 x 3, no restart": ("222", 1, LEASHED, Faults("dead", crashes=3, in_flight=True)),
    "unleashed": ("22", 1, UNLEASHED, replace(ANY, crashes=2)),
    "with v1": ("122", 2, LEASHED, Faults("dead", crashes=1, restarts=True, aging=True)),
}


@pytest.mark.parametrize("name", CALM)
def test_from_every_state_all_can_still_be_admitted_and_nothing_is_left(note: Note, name: str) -> None:
    """No deadlock: a way without a further fault leads from every state to where every search of a living party has
    been submitted and has ended, and no marker or hold is left. That there is a way, not that it will be taken."""
    model = Together(*CALM[name])
    found = model.explore(liveness=True)
    note(f"model: no deadlock, {name}", found)

    stuck = found.cannot_reach(model.settled)
    assert not stuck, model.tell(found.way(stuck[0]))


def test_without_repair_the_search_for_deadlocks_finds_one() -> None:
    model = Together("22", 1, replace(LEASHED, repairs=False), Faults("dead", crashes=1))

    assert model.explore(liveness=True).cannot_reach(model.settled)


LARGER: dict[str, tuple[str, int, Rules, Faults, tuple[str, ...]]] = {
    "v2 x 3, false expiry, crashes, restarts": ("222", 2, LEASHED, replace(ANY, crashes=3), ()),
    "v2 x 3, ceiling 1, false expiry, crashes, restarts": ("222", 1, LEASHED, replace(ANY, crashes=3), ()),
    "v2 x 3 unleashed, false expiry, 2 crashes": ("222", 2, UNLEASHED, replace(ANY, crashes=2), (OVERLAP,)),
    "v2 x 3, requests in flight past a restart": ("222", 2, LEASHED, EVERYTHING, ()),
    "v2 x 4, ceiling 2, false expiry": ("2222", 2, LEASHED, Faults("any"), ()),
    "v2 x 4, ceiling 3, false expiry": ("2222", 3, LEASHED, Faults("any"), ()),
    "v2 x 4, ceiling 3, unleashed, false expiry": ("2222", 3, UNLEASHED, Faults("any"), (OVERLAP,)),
    "v2 x 4, 2 crashes, restarts": ("2222", 2, LEASHED, Faults("dead", crashes=2, restarts=True), ()),
}


@pytest.mark.skipif(SCALE == 1, reason="make test-long: up to a million states each")
@pytest.mark.parametrize("name", LARGER)
def test_larger_worlds_say_the_same(note: Note, name: str) -> None:
    versions, ceiling, rules, faults, limits = LARGER[name]
    clean(note, name, Together(versions, ceiling, rules, faults), *limits)
