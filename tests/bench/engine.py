"""The engine beside BLAST+ alone: 500 proteins against 20,000, one after the other: `make bench-engine`.

The proteins are those of the Debian package mmseqs2-examples. The direct run has as many threads as there are
processors; the engine cuts the queries as the product does, and its Pods run on an embedded cluster of the same size.
The ratio of the times is one of an idle machine: on a busy one a kernel that shares by session favours the many Pods,
so the load is printed, and beside the times what the processors did.
"""

from __future__ import annotations

import gzip
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from submits.blast import databases
from submits.blast.programs import PROGRAMS
from submits.engine.batch import read_record
from submits.engine.prepare import read_plan
from submits.work import WorkStore, run_key
from tests.bench.measures import Measure, table
from tests.engine.direct import direct
from tests.engine.story import Stage
from tests.onebox.cluster.fixtures import running_cluster
from tests.world import REPOSITORY

EXAMPLES = Path("/usr/share/doc/mmseqs2/example-data")
OPTIONS = {"evalue": "10", "max_target_seqs": "500"}  # BLAST+'s own defaults
LIMIT = 1.15
T = TypeVar("T")


@dataclass(frozen=True)
class Timed(Generic[T]):
    """`processor`: seconds used by the programs that ended meanwhile, on all processors together."""

    value: T
    seconds: float
    processor: float


def timed(work: Callable[[], T]) -> Timed[T]:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    value = work()
    taken, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Timed(value, taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measures() -> list[Measure]:
    threads = os.cpu_count() or 1
    rights = (REPOSITORY / "deploy/engine/rbac.yaml",)
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as name:
        folder = Path(name)
        fasta = folder / "proteins.fa"
        fasta.write_bytes(gzip.decompress((EXAMPLES / "DB.fasta.gz").read_bytes()))
        facts = databases.format_fasta(fasta, folder / "db" / "proteins", "20,000 proteins")
        query = gzip.decompress((EXAMPLES / "QUERY.fasta.gz").read_bytes()).decode()
        store = WorkStore(str(folder / "work"))
        with running_cluster(folder / "cluster", manifests=rights) as cluster:
            stage = Stage(cluster, store, folder)

            def searched() -> str:
                """From the checked text to the outcome."""
                run_id = stage.prepared(query, facts, letters=PROGRAMS["blastp"].batch_letters, **OPTIONS)
                done = stage.submit(run_id)
                assert done.returncode == 0, done.stderr
                outcome = stage.outcome(run_id, 3_600)
                assert outcome.status == "succeeded", outcome
                return run_id

            ours = timed(searched)
            run_id = ours.value
            stage.finalizer(run_id, "Complete")
            alone = timed(lambda: direct(store, run_id, folder, threads))
            same = store.get(run_key(run_id, "hits.tsv")) == alone.value
            plan = read_plan(store, run_id)
            records = [read_record(store, run_id, batch) for batch in range(1, plan.batches + 1)]
            stage.clear()
    rows = alone.value.count(b"\n")
    assert same, f"the engine's rows are not those of the direct run, which has {rows}"
    inside = sum(record.seconds for record in records if record is not None)
    return [
        Measure(f"direct run, {threads} threads", alone.seconds, "s", None, f"{rows} rows"),
        Measure("engine", ours.seconds, "s", None, f"the same rows, from {plan.batches} batches"),
        Measure("engine / direct run", ours.seconds / alone.seconds, "", LIMIT),
        Measure("direct run: processor time", alone.processor, "s"),
        Measure("engine: processor time of its Pods", ours.processor, "s", None, f"{inside:.0f} s within BLAST+"),
        Measure("engine / direct run: processor time", ours.processor / alone.processor, ""),
    ]


def main() -> None:
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    found = measures()
    print(f"load after: {os.getloadavg()[0]:.1f}")
    print(table(found))


if __name__ == "__main__":
    main()
