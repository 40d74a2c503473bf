"""Queries of real size: a FASTA of 50 MB goes through a whole installation, and the most that each process held."""

from __future__ import annotations

import random
import re
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from submits import demo
from submits.blast.facts import DatabaseFacts
from submits.blast.intake import Search, read_search
from submits.engine.prepare import prepare
from submits.work import WorkStore
from tests.bench.measures import Measure
from tests.onebox.running import Running
from tests.story.installation import signin_address
from tests.story.visitor import Visitor, hidden

RECORDS = 100_000
MEGABYTES = 150  # the most that one process of ours may hold
ROLES = {
    "web": r"uvicorn",
    "worker": r"celery.*-Q\0default",
    "submitter": r"celery.*-Q\0submit",
    "gatekeeper": r"manage\.py\0gatekeeper",
    "embedded cluster": r"manage\.py\0cluster|coordui\.onebox\.cluster",
    "submit": r"coordui-engine\0submit",
    "the Job that starts the batches": r"coordui-engine\0launch",
    "a batch, beside BLAST": r"coordui-engine\0batch",
    "finalizer": r"coordui-engine\0finalize",
}


def fasta(records: int = RECORDS, letters: int = 455) -> Iterator[bytes]:
    """Records of nearly 500 bytes: one in twenty is a piece of phage lambda, the others are letters without sense."""
    genome = "".join(demo.text("lambda").split("\n")[1:])
    drawn = random.Random(1)
    for number in range(records):
        at = drawn.randrange(len(genome) - letters)
        sequence = "".join(drawn.choices("ACGT", k=letters)) if number % 20 else genome[at : at + letters]
        lines = "\n".join(sequence[at : at + 70] for at in range(0, len(sequence), 70))
        yield f">read_{number:06d} of a run of {records}\n{lines}\n".encode()


class Peaks:
    """The most memory that each process of an installation has held, by its role, in megabytes: looked at ten times a
    second, so that what a short process takes in its last moment may be missed."""

    def __init__(self, running: Running) -> None:
        self.running, self.ended = running, threading.Event()
        self.found: dict[str, float] = defaultdict(float)
        self.thread = threading.Thread(target=self.look)

    def __enter__(self) -> Peaks:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join()

    def look(self) -> None:
        while not self.ended.wait(0.1):
            for pid in self.running.left():
                try:
                    command = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                role = next((role for role, words in ROLES.items() if re.search(words, command)), "")
                if "leash.py" not in command and role and (peak := re.search(r"VmHWM:\s*(\d+)", status)):
                    self.found[role] = max(self.found[role], int(peak[1]) / 1024)


def send(visitor: Visitor, query: Path, database: str) -> str:
    """The form with a file in it, as a browser sends it: the new search's key."""
    line, fields = b"--a-line-between", {**hidden(visitor.text("/")), "query": "", "database": database}
    named = b'\r\nContent-Disposition: form-data; name="%s"'
    head = b"".join(line + named % name.encode() + f"\r\n\r\n{value}\r\n".encode() for name, value in fields.items())
    head += line + named % b"file" + b'; filename="query.fa"\r\n\r\n'
    end = b"\r\n" + line + b"--\r\n"
    headers = {
        "Content-Type": f"multipart/form-data; boundary={line[2:].decode()}",
        "Content-Length": str(len(head) + query.stat().st_size + len(end)),
        "Referer": visitor.home + "/",
    }
    with query.open("rb") as file:
        body = chain((head,), iter(lambda: file.read(1 << 16), b""), (end,))
        request = urllib.request.Request(visitor.home + "/", body, headers)
        with visitor.opener.open(request, timeout=300) as answer:
            return str(answer.url).strip("/").rpartition("/")[2]


def streamed(folder: Path, query: Path) -> Iterator[Measure]:
    """A whole search; then its page, its list of queries' end and its table."""
    running = Running(["--port", "0", "--state", str(folder / "state")])
    try:
        visitor = Visitor(signin_address(running))
        with Peaks(running) as peaks:
            begun = time.monotonic()
            key = send(visitor, query, "lambda")
            sent = time.monotonic() - begun
            visitor.reaches(key, "waiting", "submitting", "running", "completed", within=120)
            prepared = time.monotonic() - begun - sent
            state = visitor.reaches(key, "completed", "failed", within=900)
            whole = time.monotonic() - begun
        assert state["status"] == "completed", state
        with Peaks(running) as pages:
            visitor.text(f"/searches/{key}/?query={RECORDS}")
            visitor.text(state["links"]["tsv"])
        running.stop(within=60)
    finally:
        running.kill()
        running.is_gone()
    yield Measure("50 MB of queries: sent, checked and received", sent, "s")
    yield Measure("50 MB of queries: prepared", prepared, "s")
    yield Measure(f"50 MB of queries: to the end, {state['batches']} batches, {state['hits']} hits", whole, "s")
    for role in ROLES:
        yield Measure(f"50 MB of queries: peak memory of {role}", peaks.found[role], "MB", MEGABYTES)
    yield Measure(
        "50 MB of queries: peak memory of web, with results and download", pages.found["web"], "MB", MEGABYTES
    )


def split(folder: Path, query: Path) -> Iterator[Measure]:
    """What a worker does with a query: read and check it, then split it; in this process."""
    database = DatabaseFacts("k", "T", "/k", "nucl", 1, 10, "")
    with query.open("rb") as file:
        begun, busy = time.perf_counter(), time.process_time()
        search = read_search(file, program=None, database=database, options={})
        assert isinstance(search, Search), search
        yield taken(f"{RECORDS:,} records: checked", begun, busy)
        begun, busy = time.perf_counter(), time.process_time()
        prepare(WorkStore(str(folder / "work")), search, database, "job-" + "0" * 32)
        yield taken(f"{RECORDS:,} records: split into batches", begun, busy, 5)


def taken(what: str, begun: float, busy: float, limit: float | None = None) -> Measure:
    of_processor = f"{time.process_time() - busy:.2f} s of the processor"
    return Measure(what, time.perf_counter() - begun, "s", limit, of_processor)


def measures() -> list[Measure]:
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as made:
        folder = Path(made)
        query = folder / "query.fa"
        with query.open("wb") as file:
            file.writelines(fasta())
        return [*split(folder, query), *streamed(folder, query)]
