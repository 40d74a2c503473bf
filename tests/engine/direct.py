"""The same search without us: one run of the program over the same prepared queries, and its table."""

from __future__ import annotations

import subprocess
from pathlib import Path

from submits.blast import plan as planning
from submits.blast import table
from submits.blast.programs import executable
from submits.engine.prepare import batch_key, read_plan
from submits.work import WorkStore


def direct(store: WorkStore, run_id: str, directory: Path, threads: int = 1, outfmt: str = "") -> bytes:
    """The bytes of the table of one run of all queries; by default in the product's own columns."""
    plan = read_plan(store, run_id)
    queries, rows = directory / "all.fa", directory / "all.tsv"
    queries.write_bytes(b"".join(store.get(batch_key(run_id, batch)) for batch in range(1, plan.batches + 1)))
    argv = planning.command(plan, query=str(queries), database=plan.database.path, out=str(rows))
    argv[0] = executable(argv[0])
    argv[argv.index("-num_threads") + 1] = str(threads)
    argv[argv.index("-outfmt") + 1] = outfmt or table.OUTFMT
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return rows.read_bytes()
