"""From a container's spec to what is started: argument list, environment, directory."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ..kinds.quantities import limit, requested
from ..storage.objects import Obj, spec_of
from ..storage.store import Store
from .environment import base, environment, expand
from .sources import CannotRun


@dataclass(frozen=True)
class Command:
    argv: list[str]
    env: dict[str, str]
    cwd: Path
    memory: int | None  # bytes


@dataclass(frozen=True)
class Place:
    """Where a Pod runs: its own directory, how it finds the API, and what the node has."""

    directory: Path
    account: Path | None  # where its token is
    port: int
    marks: Mapping[str, str]  # variables by which a process is known as this Pod's
    capacity: Mapping[str, Decimal]

    @property
    def home(self) -> Path:
        return self.directory / "home"


def check(pod: Obj) -> None:
    """What can be told before anything starts. Raises CannotRun."""
    spec = spec_of(pod)
    if spec.get("ephemeralContainers"):
        raise CannotRun("spec.ephemeralContainers: this node does not run them")
    try:
        requested(pod)
    except ValueError as why:
        raise CannotRun(f"resources: {why}") from None
    for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        name = container["name"]
        if not container.get("command"):
            raise CannotRun(
                f'container "{name}" has no command: this node has no images, so the command has to be given'
            )
        if container.get("restartPolicy"):
            raise CannotRun(f'container "{name}": this node knows no restartPolicy of a single container')


def command(pod: Obj, container: Obj, store: Store, place: Place) -> Command:
    """Raises NotYet for a ConfigMap or Secret that is missing, CannotRun for what this machine cannot do."""
    name = str(container["name"])
    given = base(str(place.home), place.account, place.port)
    env = environment(pod, container, given, store, place.capacity)
    argv = [expand(word, env) for word in [*container["command"], *container.get("args", ())]]
    cwd = Path(container.get("workingDir") or place.home)
    if not cwd.is_dir():
        raise CannotRun(f'container "{name}": workingDir {cwd} is no directory on this machine')
    if shutil.which(cwd / argv[0] if "/" in argv[0] else argv[0], path=env["PATH"]) is None:
        raise CannotRun(f'container "{name}": "{argv[0]}" is no program on PATH ({env["PATH"]})')
    memory = limit(container, "memory")
    return Command(argv, env | dict(place.marks), cwd, None if memory is None else int(memory))
