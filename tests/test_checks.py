"""Settings that contradict each other stop every process with a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

from submits.checks import SKIPPED_AFTER, backend, layers, limits, patience, refuse_to_start
from submits.gates.ports import Times

FINE = {"exec_timeout": 600, "lease_ttl": 900, "soft": 3300, "hard": 3600, "visibility": 7200}


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({}, []),
        ({"exec_timeout": 740}, ["submits.E001"]),
        ({"lease_ttl": 760}, ["submits.E001"]),
        ({"soft": 600}, ["submits.E002"]),
        ({"hard": 3300}, ["submits.E002"]),
        ({"visibility": 3600}, ["submits.E002"]),
    ],
)
def test_the_times_must_fit_into_each_other(change: dict[str, int], broken: list[str]) -> None:
    assert [key for key, _ in limits(**(FINE | change))] == broken


def test_a_sentence_names_the_settings_and_their_values() -> None:
    ((_, sentence),) = limits(**(FINE | {"exec_timeout": 740}))
    assert "BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS=740" in sentence
    assert "BLAST_SUBMIT_LEASE_TTL_SECONDS=900" in sentence


def test_a_backend_and_a_layer_that_would_not_coordinate_are_refused() -> None:
    assert backend("k8s") == layers(["channels_redis.pubsub.RedisPubSubChannelLayer"]) == []
    assert backend("redis")[0][0] == "submits.E003"
    assert layers(["channels.layers.InMemoryChannelLayer"])[0][0] == "submits.E004"


def test_who_gives_way_must_not_do_so_for_as_long_as_a_dead_one_is_waited_for() -> None:
    assert patience(9) == []
    assert patience(10)[0][0] == "submits.E005"
    assert Times().skip_after == SKIPPED_AFTER


def test_it_is_a_system_check_and_every_process_refuses_to_start(settings: Any) -> None:
    refuse_to_start()
    assert [m for m in run_checks() if m.id and m.id.startswith("submits.")] == []
    settings.BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS = 880
    assert [m.id for m in run_checks() if m.id and m.id.startswith("submits.")] == ["submits.E001"]
    with pytest.raises(ImproperlyConfigured, match="do not fit"):
        refuse_to_start()
