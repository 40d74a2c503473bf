"""Where `elastic-blast` leaves results, and what of them our pages live on.

Below the address that it was given, or below that and the search's id (the fork), are `metadata/SUCCESS.txt` or
`metadata/FAILURE.txt`, and for each of its batches `batch_NNN-PROGRAM-DATABASE.out.gz`. The batches are its own: it
splits the queries anew, whole ones and in order.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from submits.blast import plan as planning
from submits.blast.plan import Plan
from submits.blast.summary import Summary
from submits.blast.table import BadRow
from submits.engine.external.settings import Form, Handed
from submits.engine.merge import merge
from submits.engine.prepare import out_key
from submits.states import SubmitsError
from submits.work import WorkError, WorkStore

WORDS = 4_000  # characters of what a failure says
BATCH = re.compile(r"(?:^|/)batch_(\d{3,})-[^/]*\.out\.gz$")
SUCCESS, FAILURE, DETAILS = (f"metadata/{name}.txt" for name in ("SUCCESS", "FAILURE", "FAILURE_details"))
FORMATTING = 3_600.0  # seconds for one archive


class Unreadable(SubmitsError):
    """The search has succeeded, and what it left cannot be made into a page."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the program says that a search ended; `words` are a failure's."""

    kind: Literal["succeeded", "failed"]
    words: str = ""


def ending(handed: Handed, run_id: str) -> Ending | None:
    """None while it has not said anything. Raises WorkError or OSError when the place cannot be read.

    A failure counts, whatever else is there: the fork's finalizer writes the first, its batches may write the other.
    """
    results = WorkStore(handed.at)
    there = set(results.names(handed.key))
    for at in (f"{handed.key}/{run_id}/", f"{handed.key}/"):
        if at + FAILURE in there:
            told = [results.get(at + name) for name in (FAILURE, DETAILS) if at + name in there]
            return Ending("failed", b"\n".join(told).decode("utf-8", "replace").strip()[:WORDS])
        if at + SUCCESS in there:
            return Ending("succeeded")
    return None


def collect(store: WorkStore, plan: Plan, handed: Handed) -> tuple[Summary, int]:
    """Makes out/NNNN.tsv of every batch (of an archive by the formatter, which needs the database), then hits.tsv and
    summary.json. The summary, and how many batches there were. Raises Unreadable with a sentence.

    May be done again, with the same result.
    """
    try:
        results = WorkStore(handed.at)
        found = sorted((int(match[1]), key) for key in results.names(handed.key) if (match := BATCH.search(key)))
        numbers = [number for number, _ in found]
        if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            told = f"its batches are {numbers[:20]}" if numbers else "there is no batch"
            raise Unreadable(f"not all of it is at {handed.results}: {told}")
        for batch, (_, key) in enumerate(found, 1):
            _unpack(results, key, store, out_key(plan.run_id, batch, _ending_of(handed.form)))
            if handed.form == "archive":
                _format(store, plan, batch)
        return merge(store, replace(plan, batches=len(found))), len(found)
    except (WorkError, OSError, EOFError, zlib.error) as error:
        raise Unreadable(f"what is at {handed.results} cannot be read: {error}") from error
    except BadRow as error:
        raise Unreadable(f"what is at {handed.results} is no table as it was asked for: {error}") from error


def _ending_of(form: Form) -> str:
    return {"table": "tsv", "archive": "asn"}[form]


def _unpack(results: WorkStore, key: str, store: WorkStore, target: str) -> None:
    with results.open(key) as packed, gzip.open(packed) as source, store.writing(target) as file:
        shutil.copyfileobj(source, file)


def _format(store: WorkStore, plan: Plan, batch: int) -> None:
    """The archive names the database as the cloud had it, so it is looked for by that name where ours is."""
    source, target = (out_key(plan.run_id, batch, end) for end in ("asn", "tsv"))
    with store.scratch(target) as scratch, store.local(source) as archive:
        done = subprocess.run(
            planning.formatter(archive=str(archive), out=str(scratch / "tsv")),
            env={**os.environ, "BLASTDB": str(Path(plan.database.path).parent)},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=FORMATTING, check=False,
        )  # fmt: skip
        if done.returncode:
            words = done.stderr.decode("utf-8", "replace").strip()[-500:]
            raise Unreadable(f"the archive of a batch cannot be read with the database that is here: {words}")
        store.take(target, scratch / "tsv")
