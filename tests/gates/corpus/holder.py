"""A worker as a process of its own: leads one search through the gates, until it is killed.

python -m tests.gates.corpus.holder KUBECONFIG DIRECTORY     DIRECTORY/engine is the submit's command
"""

from __future__ import annotations

import sys
from pathlib import Path

from submits.cluster import Connection, connect
from submits.engine.leashed import LeashedSubmit
from submits.gates.ports import Times
from submits.work import WorkStore
from tests.gates.wire import Calm

TIMES = Times().scaled(0.05)  # the leash is 2 s


def leashed(directory: Path) -> LeashedSubmit:
    return LeashedSubmit(
        [str(directory / "engine")],
        "[cluster]\n",
        "{}",
        {"PATH": "/usr/bin:/bin"},
        store=WorkStore(str(directory / "work")),
        times=TIMES,
        parent=directory / "submits",
    )


if __name__ == "__main__":
    place = Path(sys.argv[2])
    Calm(connect(Connection(sys.argv[1], "default"))).admit(leashed(place))  # type: ignore[arg-type]  # the port
