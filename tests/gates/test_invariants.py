"""Which settings contradict each other, by the numbers in force; and which of three backends is chosen, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from submits.gates import invariants
from submits.gates.backends import WORDS, Backend, UnknownBackend, choose
from submits.gates.ports import Knobs, Rules, Times


def rules(scale: float = 1.0, **knobs: Any) -> Rules:
    return Rules(Knobs(**knobs), Times().scaled(scale))


def test_what_is_done_under_the_gate_must_end_before_the_hold_does() -> None:
    parts = invariants.under_the_gate(rules())
    assert sum(parts.values()) == 840  # of 900
    assert invariants.hold_fits(rules()) == invariants.hold_fits(rules(exec_timeout=659)) == []
    assert invariants.hold_fits(rules(lease_ttl=841)) == []
    for broken in (rules(exec_timeout=660), rules(lease_ttl=840), rules(scale=2.0)):
        (rule,) = invariants.hold_fits(broken)
        assert rule.key == "E001" and rule.hint


@pytest.mark.parametrize(
    "name",
    ["announce_to_fence", "heartbeat", "leash", "grace", "kill", "quiet_after_kill", "between_looks", "release_for"],
)
def test_every_wait_of_an_attempt_is_in_the_sum(name: str) -> None:
    longer = Rules(Knobs(), replace(Times(), **{name: getattr(Times(), name) + 60}))
    assert invariants.hold_fits(longer)


def test_a_sentence_names_the_settings_their_values_and_the_sum() -> None:
    (rule,) = invariants.hold_fits(rules(exec_timeout=700))
    for words in ("SECONDS=700", "BLAST_SUBMIT_LEASE_TTL_SECONDS=900", "940 s", "60 s the quiet after a kill"):
        assert words in rule.sentence


def test_a_place_is_kept_for_longer_than_its_submit_may_write() -> None:
    assert sum(invariants.until_it_is_quiet(rules()).values()) == 740  # of 750
    assert invariants.place_lasts(rules()) == invariants.place_lasts(rules(exec_timeout=609)) == []
    (rule,) = invariants.place_lasts(rules(exec_timeout=610))
    assert rule.key == "E009" and rule.hint == "Give less than 610."
    for words in ("SECONDS=610", "for 750 s", "40 s its leash", "goes after 750 s"):
        assert words in rule.sentence
    # The protocol's own times are scaled, the submit's cap is not.
    assert [bool(invariants.place_lasts(rules(0.1, exec_timeout=cap))) for cap in (600, 61, 60)] == [True, True, False]


@pytest.mark.parametrize("name", ["announce_to_fence", "leash", "grace", "kill", "quiet_after_kill"])
def test_every_wait_until_it_is_quiet_is_in_the_sum(name: str) -> None:
    longer = replace(Times(), **{name: getattr(Times(), name) + 10})
    assert invariants.place_lasts(Rules(Knobs(), longer))


@pytest.mark.parametrize(
    ("limits", "fine"),
    [
        ((600, 3300, 3600, 7200), True),
        ((3300, 3300, 3600, 7200), False),
        ((600, 3600, 3600, 7200), False),
        ((600, 3300, 7200, 7200), False),
    ],
)
def test_each_limit_is_above_the_one_before(limits: tuple[int, int, int, int], fine: bool) -> None:
    assert [rule.key for rule in invariants.limits_grow(*limits)] == ([] if fine else ["E002"])


def test_who_gives_way_must_not_do_so_for_as_long_as_a_dead_one_is_waited_for() -> None:
    assert invariants.yield_is_patient(rules(v1_yield=9)) == []
    assert [rule.key for rule in invariants.yield_is_patient(rules(v1_yield=10))] == ["E005"]


def test_a_layer_that_stays_in_its_process_is_refused() -> None:
    assert invariants.layers_cross(["coordui.layers.HintLayer"]) == []
    assert [r.key for r in invariants.layers_cross(["x", "channels.layers.InMemoryChannelLayer"])] == ["E004"]


def test_gates_count_and_engine_are_of_one_place() -> None:
    here, there = {"gates": "a", "engine": "a"}, {"gates": "a", "engine": "b"}
    assert invariants.one_place(here, here) == []
    assert [rule.key for rule in invariants.one_place(there, here)] == ["E006"]
    assert [rule.key for rule in invariants.one_place(here, there)] == ["E007"]
    assert "engine: b, gates: a" in invariants.one_place(there, here)[0].sentence


@pytest.mark.parametrize(
    ("name", "slots", "backend"),
    [
        ("k8s", False, Backend.K8S),
        ("k8s", True, Backend.K8S),
        ("redis", True, Backend.SLOTS),
        ("redis", False, Backend.LOCK),
    ],
)
def test_one_precedence(name: str, slots: bool, backend: Backend) -> None:
    chosen = choose(name, slots)
    assert chosen.backend is backend
    assert chosen.in_store is (name == "redis")
    assert f"BLAST_COORD_BACKEND={name}" in chosen.why
    assert bool(WORDS[backend]) is chosen.in_store


@pytest.mark.parametrize("name", ["", "K8S", "etcd", "redis "])
def test_an_unknown_backend_is_an_error(name: str) -> None:
    with pytest.raises(UnknownBackend, match="neither k8s nor redis"):
        choose(name, False)
