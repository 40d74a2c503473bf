"""The whole product: its start, the example search, its memory and its stop."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from submits import demo
from tests.bench.measures import Measure
from tests.onebox.running import Running
from tests.story.installation import signin_address
from tests.story.visitor import Visitor
from tests.world import until


def start_and_stop(state: Path) -> tuple[float, float, float, float]:
    """Seconds to the printed address, to the hits of the example search (with the press of the button), and to the
    end; megabytes of memory while it stands idle."""
    begun = time.monotonic()
    up = Running(["--port", "0", "--state", str(state)])
    try:
        up.says("/signin/", within=120)
        started = time.monotonic()
        memory = sum(_private(pid) for pid in (up.process.pid, *up.left()))
        example = example_search(Visitor(signin_address(up)))
        stopping = time.monotonic()
        up.stop(within=60)
        return started - begun, example, time.monotonic() - stopping, memory
    finally:
        up.kill()
        up.is_gone()


def example_search(visitor: Visitor) -> float:
    """Seconds from the press of the button until its table of hits is on the page."""
    example = demo.EXAMPLE
    begun = time.monotonic()
    key = visitor.search(example.query(), example.database)
    until(lambda: "hit-1" in visitor.text(f"/searches/{key}/"), 60)
    return time.monotonic() - begun


def _private(pid: int) -> float:
    """Its share of memory: what several processes share is divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def measures() -> list[Measure]:
    found: list[Measure] = []
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as state:
        for name in ("first start", "second start"):
            start, example, stop, memory = start_and_stop(Path(state))
            found += [
                Measure(f"{name}: to the address", start, "s"),
                Measure(f"{name}: from the example to its hits", example, "s"),
                Measure(f"{name}: stop", stop, "s"),
                Measure(f"{name}: memory while idle", memory, "MB"),
            ]
    return found
