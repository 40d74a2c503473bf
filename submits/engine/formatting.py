"""A format of a finished search's results, made in a Pod, which has the database."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from submits.blast import finishing
from submits.blast.facts import argument
from submits.blast.formats import WITH_STATISTICS, Chosen
from submits.blast.plan import Plan
from submits.blast.programs import PROGRAMS, executable
from submits.engine.errors import EngineError, Exit
from submits.engine.merge import TABLE
from submits.engine.prepare import batch_key, out_key, read_plan
from submits.engine.requested import asked, fail, key
from submits.engine.stored import fetch
from submits.work import Missing, WorkStore, run_key

_ONE = {"prot": "MKIPNIGNVMNKFEILGVVGEGAYGVVLKCRHKETHEIVAIKKF", "nucl": "ACGTTGCAACGTGATCGATCGATTAGCATCGATC"}


def make(store: WorkStore, run_id: str, name: str, to: Path | None = None) -> Exit:
    """In the Pod: makes what was asked for under `name`, whole or not at all. Done already, it is not done again. `to`:
    where a database of an object store is fetched to.

    1. the archives of all batches, one behind the other, through one run of BLAST's formatter
    2. the statistics of each query, for the formats that have them
    3. corrected to what one run of all queries would have written, then the author's names
    """
    plan, chosen = read_plan(store, run_id), asked(store, run_id, name)
    target = key(run_id, chosen.file)
    if store.exists(target):
        return Exit.OK
    with store.scratch(target) as directory:
        try:
            plan = replace(plan, database=fetch(plan.database, to))
            if chosen.format.outfmt:
                lines: Iterable[bytes] = formatted(store, plan, chosen, directory)
            else:
                lines = subjects(store, plan, directory)
            with (directory / "whole").open("wb") as whole:
                whole.writelines(lines)
        except EngineError as error:
            fail(store, run_id, name, str(error))
            raise
        store.take(target, directory / "whole")
    return Exit.OK


def formatted(store: WorkStore, plan: Plan, chosen: Chosen, directory: Path) -> Iterator[bytes]:
    raw = raw_format(store, plan, chosen, directory)

    def lines() -> Iterator[bytes]:
        with raw.open("rb") as file:
            yield from file

    known = statistics(store, plan, directory) if chosen.format.outfmt in WITH_STATISTICS else {}
    return finishing.renamed(finishing.corrected(lines, chosen, len(plan.queries), known), chosen, plan)


def raw_format(store: WorkStore, plan: Plan, chosen: Chosen, directory: Path) -> Path:
    """What the formatter makes of all archives. It reads them from its standard input, so they lie nowhere twice."""
    archives = [out_key(plan.run_id, batch, "asn") for batch in range(1, plan.batches + 1)]
    raw = directory / "raw"
    command = ["blast_formatter", "-archive", "-", "-parse_deflines", "-outfmt", chosen.outfmt, "-out", str(raw)]
    with (directory / "stderr").open("w+b") as stderr:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=stderr)
        except OSError as error:
            raise EngineError(Exit.DEPENDENCY, f"blast_formatter: {error.strerror}") from error
        with process:
            try:
                feed(process, store, archives)
            except BrokenPipeError:
                pass  # it has ended: its status says why
            except Missing as error:
                process.kill()
                raise EngineError(Exit.INPUT, f"an archive of {plan.run_id} is not there any more") from error
        if process.returncode != 0 or not raw.is_file():
            stderr.seek(0)
            words = stderr.read().decode("utf-8", "replace").strip()
            raise EngineError(Exit.BLAST_ENGINE, words or f"blast_formatter ended with status {process.returncode}")
    return raw


def feed(process: subprocess.Popen[bytes], store: WorkStore, archives: list[str]) -> None:
    if process.stdin is not None:
        with process.stdin as whole:
            for archive in archives:
                with store.open(archive) as file:
                    shutil.copyfileobj(file, whole)


def statistics(store: WorkStore, plan: Plan, directory: Path) -> dict[str, tuple[int, int]]:
    """Of each query, from BLAST itself: the same search in a database of one sequence that claims the real one's size.

    Empty for profiles, and where an option speaks of what only the real database has: then the formatter's stand.
    """
    program = PROGRAMS[plan.program]
    if program.database == "rps":
        return {}
    (directory / "one.fa").write_text(f">one\n{_ONE[program.database]}\n")
    build = ["makeblastdb", "-in", "one.fa", "-dbtype", program.database, "-out", "one"]
    subprocess.run(build, cwd=directory, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    size = f"STATS_NSEQ {plan.database.sequences}\nSTATS_TOTLEN {plan.database.letters}\n"
    (directory / f"sized.{program.database[0]}al").write_text(f"TITLE sized\nDBLIST one\n{size}")
    found: dict[str, tuple[int, int]] = {}
    for batch in range(1, plan.batches + 1):
        with store.local(batch_key(plan.run_id, batch)) as query:
            command = [
                executable(plan.program),
                *plan.argv[1:],
                "-query",
                str(query),
                "-parse_deflines",
                "-db",
                "sized",
            ]
            command += ["-outfmt", "15", "-out", "statistics"]
            done = subprocess.run(command, cwd=directory, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            return {}
        with (directory / "statistics").open("rb") as said:
            found |= finishing.statistics(said)
    return found


def subjects(store: WorkStore, plan: Plan, directory: Path) -> Iterator[bytes]:
    """The whole sequence of every subject once, in the order of the table."""
    names: dict[bytes, None] = {}
    with store.open(run_key(plan.run_id, TABLE)) as table:
        names.update(dict.fromkeys(line.split(b"\t", 2)[1] for line in table))
    if not names:
        return
    (directory / "names").write_bytes(b"\n".join(names) + b"\n")
    kind = "nucl" if plan.database.molecule == "nucl" else "prot"
    command = ["blastdbcmd", "-db", argument(plan.database.path), "-dbtype", kind]
    command += ["-entry_batch", str(directory / "names"), "-out", str(directory / "found"), "-line_length", "60"]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False
    )
    whole = directory / "found"
    if done.returncode != 0 or not whole.is_file():
        words = (done.stderr.strip().splitlines() or ["blastdbcmd said nothing"])[0]
        raise EngineError(Exit.BLASTDB, f"not every subject can be read by its name from this database: {words}")
    with whole.open("rb") as file:
        yield from file
