"""One batch, in its Pod: BLAST writes its archive, the formatter the table, and a record says how it went."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType

from submits.blast import plan as planning
from submits.blast import programs
from submits.blast.plan import Plan
from submits.blast.summary import Counter, Summary
from submits.engine.errors import EngineError, Exit
from submits.engine.prepare import batch_key, out_key, read_plan
from submits.engine.stored import fetch
from submits.work import Missing, WorkStore

STDERR = 8_000
HITS = "hits.json"
UNREACHABLE = 6  # BLAST's own status for files


@dataclass(frozen=True, slots=True)
class Record:
    """out/NNNN.json. `exit` is BLAST's (or the formatter's) own status, 128 + signal when it was killed."""

    exit: int
    stderr: str
    seconds: float
    argv: list[str]


def read_record(store: WorkStore, run_id: str, batch: int) -> Record | None:
    """How a batch went, None while nothing is known; a half-written or foreign file counts as nothing."""
    try:
        return Record(**json.loads(store.get(out_key(run_id, batch, "json"))))
    except (Missing, ValueError, TypeError):
        return None


def run(store: WorkStore, run_id: str, batch: int, to: Path | None = None) -> int:
    """Runs a batch and returns its exit status. One that is done already is not run again. `to`: where a database of an
    object store is fetched to; that it cannot be is told as if the search itself had failed of it.

    Guarantee: NNNN.asn and NNNN.tsv appear whole or not at all, then NNNN.hits.json, and NNNN.json after them; a try
    that dies half-way leaves nothing that the next could take for a result, and the next takes away what it left.
    """
    standing = read_record(store, run_id, batch)
    if standing is not None and standing.exit == 0 and store.exists(out_key(run_id, batch, "tsv")):
        return 0
    plan = read_plan(store, run_id)
    if not store.exists(batch_key(run_id, batch)):
        raise EngineError(Exit.INPUT, f"batch {batch} of {run_id} has no queries: its file is missing")
    keys = [out_key(run_id, batch, suffix) for suffix in ("asn", "tsv", HITS)]
    with store.scratch(keys[0]) as scratch, store.local(batch_key(run_id, batch)) as query:
        archive, table, numbers = (scratch / name for name in ("asn", "tsv", HITS))
        record = _search(plan, str(query), str(archive), to)
        if record.exit == 0:
            record = _then(record, _run(planning.formatter(archive=str(archive), out=str(table))))
        if record.exit == 0:
            with numbers.open("wb") as file:
                file.writelines(summary_of(plan, query, table).pieces())
            for key, made in zip(keys, (archive, table, numbers), strict=True):
                store.take(key, made)
    store.put(out_key(run_id, batch, "json"), json.dumps(asdict(record), ensure_ascii=False).encode())
    return record.exit


def _search(plan: Plan, query: str, archive: str, to: Path | None) -> Record:
    try:
        database = fetch(plan.database, to)
    except EngineError as error:
        return Record(UNREACHABLE, str(error)[-STDERR:], 0.0, [plan.program])
    return _run(planning.command(plan, query=query, database=database.path, out=archive))


def summary_of(plan: Plan, fasta: Path, rows: Path) -> Summary:
    """The numbers of one batch's table: what can be looked at before all are done. Raises table.BadRow."""
    with fasta.open("rb") as file:
        numbers = [int(line[2:]) for line in file if line.startswith(b">")]
    counter = Counter(replace(plan, queries=tuple(plan.queries[number - 1] for number in numbers)))
    with rows.open("rb") as lines:
        for _ in counter.count(lines):
            pass
    return counter.summary()


def _then(search: Record, formatting: Record) -> Record:
    """One record for both programs; the command kept is the search's, unless the formatter failed."""
    argv = formatting.argv if formatting.exit else search.argv
    stderr = "\n".join(dict.fromkeys(f"{search.stderr}\n{formatting.stderr}".strip().splitlines()))
    return Record(formatting.exit, stderr[-STDERR:], round(search.seconds + formatting.seconds, 3), argv)


def _run(command: list[str]) -> Record:
    argv = [programs.executable(command[0]), *command[1:]]
    started = time.monotonic()
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except OSError as error:
        return Record(127, f"{argv[0]}: {error.strerror}", 0.0, argv)

    def stop(number: int, frame: FrameType | None) -> None:
        process.terminate()

    before = signal.signal(signal.SIGTERM, stop)
    try:
        # No time-out of its own: the Job's activeDeadlineSeconds ends it, and its words are kept then too.
        _, stderr = process.communicate()
    except BaseException:
        process.kill()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    words = stderr.decode("utf-8", "replace").strip()[-STDERR:]
    return Record(status, words, round(time.monotonic() - started, 3), argv)
