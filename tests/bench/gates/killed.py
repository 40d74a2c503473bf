"""From the SIGKILL of a holder in the middle of its submit to the next admission: another door takes its gate over."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from submits.gates import naming
from tests.bench.measures import Measure
from tests.gates.processes.site import Doors, Program, open_site
from tests.world import until

LIMIT = 75.0  # seconds, by the protocol's own times
FACTOR = 0.1
KILLS = 5
CLOCK = 1.0  # second, to which the API server's clock is read: it is not scaled


def measures(*, once_for_real: bool) -> Iterator[Measure]:
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as folder:
        program, doors = Program(Path(folder) / "cluster"), Doors(Path(folder) / "said")
        try:
            taken = sorted(kill(program, doors, Path(folder) / str(number), FACTOR) for number in range(KILLS))
            limit, beside = LIMIT * FACTOR + CLOCK, f"of {KILLS}; v1: {930 * FACTOR:g} s"
            yield Measure(f"holder killed → next admitted, times x {FACTOR}, longest", taken[-1], "s", limit, beside)
            if once_for_real:
                real = kill(program, doors, Path(folder) / "real", 1.0)
                yield Measure("holder killed → next admitted, once for real", real, "s", LIMIT, "v1: 930 s")
        finally:
            doors.close()
            program.kill()


def kill(program: Program, doors: Doors, folder: Path, factor: float) -> float:
    folder.mkdir()
    with open_site(program.kubeconfig, doors, folder) as site:
        run = naming.run_id("dashboard-0")
        site.hold(run)
        site.open(site.plan("dashboard", 1, factor=factor))
        site.submits_of(run)
        site.open(site.plan("openapi", 1, factor=factor))
        site.in_line("openapi")
        killed_at = site.kill("dashboard")
        until(lambda: site.started_after(killed_at), LIMIT * 2)
        return site.started_after(killed_at)[0] - killed_at
