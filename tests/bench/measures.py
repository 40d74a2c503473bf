"""What is measured, as rows of a table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measure:
    """`limit` is what it should not exceed; `beside` is the same work done by something else in the same run."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    beside: str = ""

    @property
    def cells(self) -> tuple[str, str, str, str]:
        digits = 0 if self.value >= 100 else 1 if self.value >= 2 else 2
        limit = "" if self.limit is None else f"≤ {self.limit:g}"
        mark = "" if self.limit is None or self.value <= self.limit else "  missed"
        return self.what, f"{self.value:.{digits}f} {self.unit}", limit + mark, self.beside


def table(found: Iterable[Measure]) -> str:
    rows = [("measure", "value", "limit", "beside it"), *(measure.cells for measure in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def median_ms(work: Callable[[], object], times: int = 20) -> float:
    """The median of that many runs, in milliseconds."""
    return statistics.median(seconds(work) for _ in range(times)) * 1000


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def rate(work: Callable[[int], object], times: int) -> float:
    """How often a second; `work` is told the number of the turn."""
    begun = time.perf_counter()
    for number in range(times):
        work(number)
    return times / (time.perf_counter() - begun)


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
