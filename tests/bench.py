"""How fast everything starts and stops on this machine: `make bench`. Prints one line a measure."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from tests.onebox.running import Running


def start_and_stop(state: Path) -> tuple[float, float, float]:
    """Seconds to the printed address, seconds to the end, and megabytes of memory while it stands idle."""
    begun = time.monotonic()
    up = Running(["--port", "0", "--state", str(state)])
    try:
        up.says("/signin/", within=120)
        started = time.monotonic()
        memory = sum(_private(pid) for pid in (up.process.pid, *up.left()))
        stopping = time.monotonic()
        up.stop(within=60)
        return started - begun, time.monotonic() - stopping, memory
    finally:
        up.kill()
        up.is_gone()


def _private(pid: int) -> float:
    """Its share of memory: what several processes share is divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as state:
        print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        for name in ("first start", "second start"):
            start, stop, memory = start_and_stop(Path(state))
            print(f"{name}: {start:.1f} s to the address, {stop:.1f} s to stop, {memory:.0f} MB")


if __name__ == "__main__":
    main()
