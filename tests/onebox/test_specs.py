from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from coordui import settings
from coordui.onebox.supervisor import child, probes, specs
from coordui.onebox.supervisor.claim import Refused
from coordui.onebox.supervisor.plan import stop_order

EVERYTHING = set(specs.NAMES)
Set = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def made() -> None:
    settings.LAYOUT.make()


def test_everything_is_the_default() -> None:
    assert specs.chosen("") == EVERYTHING


def test_what_needs_the_database_brings_its_preparation() -> None:
    assert specs.chosen("web,worker") == {"web", "worker", "prepare"}
    assert specs.chosen("store") == {"store"}


def test_a_given_store_is_not_started_and_not_touched(monkeypatch: Set) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere/0")
    assert specs.chosen("") == EVERYTHING - {"store"}


def test_with_a_cluster_of_ones_own_the_embedded_one_is_not_started(monkeypatch: Set, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "COORDUI_CLUSTER", "kubeconfig")
    monkeypatch.setattr(settings, "KUBECONFIG", f"{tmp_path / 'absent'}{os.pathsep}{tmp_path / 'config'}")
    with pytest.raises(Refused, match=r"there is no .*config: name one in KUBECONFIG"):
        specs.chosen("")
    (tmp_path / "config").touch()
    assert specs.chosen("") == EVERYTHING - {"cluster"}


def test_incluster_is_refused_outside_of_one(monkeypatch: Set) -> None:
    monkeypatch.setattr(settings, "COORDUI_CLUSTER", "incluster")
    with pytest.raises(Refused, match="does not run in a Pod"):
        specs.chosen("")


def test_the_cluster_takes_faults_only_when_that_is_asked_for(monkeypatch: Set) -> None:
    assert "--faults" not in specs.cluster().argv
    monkeypatch.setattr(settings, "COORDUI_CLUSTER_FAULTS", True)
    assert "--faults" in specs.cluster().argv


def test_they_stop_from_the_web_to_the_store() -> None:
    stages = stop_order(specs.processes(EVERYTHING, 8000))
    assert [sorted(process.name for process in stage) for stage in stages] == [
        ["prepare", "web"],
        ["gatekeeper"],
        ["submitter", "worker"],
        ["cluster"],
        ["store"],
    ]


def test_each_needs_only_what_there_is() -> None:
    for process in specs.processes(EVERYTHING, 8000):
        assert process.needs <= EVERYTHING


def test_nothing_of_another_cluster_reaches_the_processes(monkeypatch: Set) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/production")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")

    env = specs.environment(8000, 42)

    assert env["KUBECONFIG"] == str(settings.LAYOUT.kubeconfig)
    assert "KUBERNETES_SERVICE_HOST" not in env


def test_programs_of_the_virtual_environment_come_first() -> None:
    first = specs.environment(8000, 42)["PATH"].split(os.pathsep)[0]
    assert first == str(Path(sys.executable).parent)
    assert (Path(first) / "coordui-engine").exists()


def test_without_any_store_it_says_what_to_install(monkeypatch: Set) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"apt-get install redis-server.*REDIS_URL"):
        specs.server_program()


def test_a_store_of_the_system_comes_before_the_one_that_was_brought(monkeypatch: Set) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if name == "redis-server" else None)
    assert specs.server_program() == "/usr/bin/redis-server"


@pytest.mark.parametrize("content", ["", "clusters: []", "{", "clusters: [{cluster: {server: 'https://127.0.0.1:1'}}]"])
def test_a_kubeconfig_that_is_not_of_this_start_is_not_yet_ready(tmp_path: Path, content: str) -> None:
    path = tmp_path / "kubeconfig"
    assert not probes.cluster(path, 2)
    path.write_text(content)
    assert not probes.cluster(path, 2)


def test_an_overlong_log_is_moved_aside_while_it_is_written(tmp_path: Path, monkeypatch: Set) -> None:
    monkeypatch.setattr(child, "LARGEST_LOG", 10)
    log = child.Log(tmp_path / "web.log")
    descriptor = log.open()
    os.write(descriptor, b"0123456789ab\n")

    log.bound()
    os.write(descriptor, b"new\n")
    log.bound()
    os.close(descriptor)

    assert log.path.read_text() == "new\n"
    assert (tmp_path / "web.log.1").read_text() == "0123456789ab\n"


def test_no_more_than_three_earlier_logs_are_kept(tmp_path: Path) -> None:
    log = child.Log(tmp_path / "web.log")
    for number in range(6):
        log.rotate()
        log.path.write_text(str(number))
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["5", "4", "3", "2"]
