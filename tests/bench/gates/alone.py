"""One admission by a process that does nothing else: `python -m tests.bench.gates.alone KUBECONFIG`.

Prints JSON: what came of it, how many seconds it took, and the most memory that the process has had, before and after.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from submits.cluster import Connection, connect
from submits.gates.ports import Times
from tests.gates.trying import Try


def most_memory() -> float:
    """Megabytes, of this program alone: getrusage() would tell of the one that started it too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def main(kubeconfig: str) -> None:
    one = Try(connect(Connection(kubeconfig, "default")), 1, ceiling=20)
    one.rules = replace(one.rules, times=Times())
    one.stand_in_line()
    before, begun = most_memory(), time.perf_counter()
    verdict = one.admit()
    seconds = time.perf_counter() - begun
    print(json.dumps({"outcome": verdict.outcome, "seconds": seconds, "before": before, "after": most_memory()}))


if __name__ == "__main__":
    main(sys.argv[1])
