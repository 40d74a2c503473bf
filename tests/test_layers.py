from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.world import REPOSITORY


def test_imports_go_down_the_layers() -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("coordui.onebox.supervisor.cli, coordui.onebox.supervisor.specs, coordui.onebox.supervisor.tree", "django.db"),
        ("coordui.onebox.cluster", "django.db"),
        ("submits.gates, submits.engine.cli", "django"),
    ],
)
def test_what_must_stay_light_stays_light(module: str, unwanted: str) -> None:
    code = f"import sys, {module}; sys.exit({unwanted!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_kubernetes_is_imported_in_one_package_of_each_side() -> None:
    allowed = ("submits/cluster/", "coordui/onebox/cluster/")
    for top in ("submits", "coordui"):
        for path in (REPOSITORY / top).rglob("*.py"):
            name = path.relative_to(REPOSITORY).as_posix()
            lines = [line.strip() for line in path.read_text().splitlines()]
            if any(line.startswith(("import kubernetes", "from kubernetes")) for line in lines):
                assert name.startswith(allowed), name


def test_no_file_grows_over_350_lines() -> None:
    for top in ("coordui", "submits", "tests"):
        for path in (REPOSITORY / top).rglob("*.py"):
            assert len(path.read_text().splitlines()) <= 350, path


def test_both_gates_in_the_store_are_one_small_room() -> None:
    scripted = [path for path in (REPOSITORY / "submits").rglob("*.py") if "redis.call(" in path.read_text()]
    assert [path.name for path in scripted] == ["redisgate.py"]
    assert len(scripted[0].read_text().splitlines()) < 250
