"""Settings that contradict each other stop every process with a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import Error, run_checks
from django.core.exceptions import ImproperlyConfigured

from coordui.layout import Layout
from submits.checks import refuse_to_start
from submits.gates.ports import Times
from tests.world import REPOSITORY

PROGRAMS = {
    "web": ["-m", "uvicorn", "coordui.asgi:application", "--port", "0"],
    "worker": ["-m", "celery", "-A", "coordui.celery", "worker", "-Q", "default", "-c", "1"],
    "submitter": ["-m", "celery", "-A", "coordui.celery", "worker", "-Q", "submit", "-c", "1"],
    "gatekeeper": ["manage.py", "gatekeeper", "--skip-checks"],
    "a flow without the broker": ["manage.py", "runsearch", "1", "--skip-checks"],
}


def ours() -> list[Any]:
    return [message for message in run_checks() if message.id and message.id.startswith("submits.")]


def test_it_is_a_system_check_and_every_process_refuses_to_start(settings: Any) -> None:
    refuse_to_start()
    assert ours() == []
    settings.BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS = 880
    told, place = ours()
    assert isinstance(told, Error) and told.id == "submits.E001" and told.hint
    assert isinstance(place, Error) and place.id == "submits.E009" and place.hint
    with pytest.raises(ImproperlyConfigured, match=r"does not fit .*\(submits.E001\)\. Lower the first"):
        refuse_to_start()


def test_all_that_is_broken_is_said_at_once_by_the_numbers_in_force(settings: Any) -> None:
    settings.CELERY_TASK_SOFT_TIME_LIMIT = 500
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    settings.BLAST_COORD_BACKEND = "etcd"
    settings.BLAST_V1_YIELD_SECONDS = 10
    settings.COORDUI_PROTOCOL_SCALE = 3.0
    settings.SECRET_IS_SHARED = False
    assert {told.id[-4:] for told in ours()} == {"E001", "E002", "E003", "E004", "E005"}
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is not set"):
        refuse_to_start()


def test_the_visibility_timeout_is_the_brokers(settings: Any) -> None:
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
    assert [told.id for told in ours()] == ["submits.E002"]
    assert Times().skip_after == 10


def test_how_long_a_place_lasts_matters_where_there_are_places(settings: Any) -> None:
    settings.BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS = 609
    refuse_to_start()
    settings.BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS = 610
    with pytest.raises(
        ImproperlyConfigured, match=r"another could take it meanwhile \(submits.E009\)\. Give less than 610"
    ):
        refuse_to_start()
    settings.BLAST_COORD_BACKEND = "redis"
    refuse_to_start()


def test_a_directory_that_no_pod_sees_stops_every_process(settings: Any, tmp_path: Path) -> None:
    settings.COORDUI_WORK_URL, settings.COORDUI_CLUSTER = str(tmp_path), "kubeconfig"
    with pytest.raises(
        ImproperlyConfigured, match=f"the work store is {tmp_path} on this machine, where no Pod .*E010"
    ):
        refuse_to_start()
    for name, value in {
        "WORK_CLAIM": "work",
        "WORK_SHARED": True,
        "WORK_URL": "s3://b/x",
        "CLUSTER": "embedded",
    }.items():
        before = getattr(settings, f"COORDUI_{name}")
        setattr(settings, f"COORDUI_{name}", value)
        refuse_to_start()
        setattr(settings, f"COORDUI_{name}", before)
    settings.COORDUI_WORK_URL = "s3://known:hidden@bucket/x"
    with pytest.raises(ImproperlyConfigured, match=r"COORDUI_WORK_URL: give s3://BUCKET/PREFIX .*E010") as refused:
        refuse_to_start()
    assert "hidden" not in str(refused.value)


def started(state: Path, environment: Mapping[str, str], names: Collection[str]) -> dict[str, subprocess.Popen[str]]:
    env = {"PATH": os.environ["PATH"], "COORDUI_STATE": str(state), "DJANGO_SETTINGS_MODULE": "coordui.settings"}
    return {
        name: subprocess.Popen(
            [sys.executable, *words],
            cwd=REPOSITORY, env={**env, **environment}, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for name, words in PROGRAMS.items() if name in names
    }  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "names", "sentence"),
    [
        (
            {"BLAST_COORD_BACKEND": "etcd"},
            {"web", "submitter"},
            "BLAST_COORD_BACKEND='etcd' cannot be used: give one of k8s, redis",
        ),
        (
            {"BLAST_SUBMIT_LEASE_TTL_SECONDS": "700"},
            PROGRAMS.keys(),
            "does not fit into BLAST_SUBMIT_LEASE_TTL_SECONDS=700",
        ),
    ],
    ids=["unknown", "contradicting"],
)
def test_each_process_really_stops(
    tmp_path: Path, environment: dict[str, str], names: Collection[str], sentence: str
) -> None:
    Layout(tmp_path).make()
    running = started(tmp_path, environment, names)
    try:
        ends = {name: (process.communicate(timeout=60)[0], process.returncode) for name, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
    for name, (said, status) in ends.items():
        assert status not in (0, None), (name, said)
        assert sentence in said, (name, said)
