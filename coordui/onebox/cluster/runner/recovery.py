"""What became of a Pod that was running when the last server died.

A leash writes down how its command ended, if it ended by itself. A Pod whose containers have all ended so is told as
it ended, and nothing of it runs again. Every other Pod is lost: it failed by a disruption, and whoever made it may
make another.
"""

from __future__ import annotations

from pathlib import Path

from ..storage.objects import Obj, spec_of
from . import lifecycle, podstatus
from .lifecycle import Container
from .logfile import log_file


def result_file(directory: Path, container: str, run: int) -> Path:
    """`directory` is the Pod's own, `run` counts a container's starts from 0."""
    return directory / "results" / f"{container}.{run}"


def had_begun(pod: Obj, directory: Path) -> bool:
    """By its logs: a server may have died between starting a Pod's first process and saying so in the Pod's status."""
    return any(
        log_file(directory, container.name, container.restarts).exists()
        or container.at in ("running", "backoff", "ended")
        for container in podstatus.read(pod)
    )


def _result(directory: Path, container: Container) -> int | None:
    try:
        return int(result_file(directory, container.name, container.restarts).read_text())
    except (OSError, ValueError):
        return None


def account(pod: Obj, directory: Path, now: str) -> Obj:
    """The Pod's last status."""
    containers = podstatus.read(pod)
    for container in containers:
        if container.at in ("new", "running") and (code := _result(directory, container)) is not None:
            container.end(code, now)
    step = lifecycle.step(containers, spec_of(pod).get("restartPolicy", "Always"), None, 0.0)
    if step.phase:
        return podstatus.told(pod, containers, now, phase=step.phase)
    return podstatus.lost(pod, containers, now)
