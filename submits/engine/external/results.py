"""Where `elastic-blast` leaves results, and what of them our pages live on.

Below the address that it was given, or below that and the search's id (the fork), are `metadata/SUCCESS.txt` or
`metadata/FAILURE.txt`, and for each of its batches `batch_NNN-PROGRAM-DATABASE.out.gz`. The batches are its own: it
splits the queries anew, whole ones and in order, into `query_batches/batch_NNN.fa` from 000 on. When it has taken those
away, `metadata/num_jobs_submitted.txt` still says how many there were.

Its word of success is not proof of results: the fork's finalizer gives it early when there are more than 100 batches,
and where failed Jobs were removed meanwhile. So results are whole only when there is one for each batch of queries.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from submits.work import Unstored, WorkError, WorkStore

WORDS = 4_000  # characters of what a failure says
BATCH = re.compile(r"(?:^|/)batch_(\d{3,})-[^/]*\.out\.gz$")
QUERIES = re.compile(r"(?:^|/)query_batches/batch_(\d{3,})\.fa$")
NUMBER = "metadata/num_jobs_submitted.txt"
SUCCESS, FAILURE, DETAILS = (f"metadata/{name}.txt" for name in ("SUCCESS", "FAILURE", "FAILURE_details"))
FORMATTING = 3_600.0  # seconds for one archive


class Unreadable(SubmitsError):
    """The search has succeeded, and what it left cannot be made into a page."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the program says that a search ended; `words` are a failure's."""

    kind: Literal["succeeded", "failed"]
    words: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is at the address: the batches it has made of the queries, and the keys of what it has found, by batch.

    `asked` is empty while that is said nowhere.
    """

    ending: Ending | None = None
    asked: frozenset[int] = frozenset()
    found: Mapping[int, str] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether there are results of every batch, from 000 on without a gap, and no other."""
        return bool(self.asked) and set(self.found) == self.asked == set(range(len(self.asked)))


def look(handed: Handed, run_id: str) -> Seen:
    """Raises WorkError or OSError when the place cannot be read."""
    results = WorkStore(handed.at)
    there = results.names(handed.key)
    asked = frozenset(int(match[1]) for key in there if (match := QUERIES.search(key)))
    if not asked:
        said = next((results.get(key).strip() for key in there if key.endswith(f"/{NUMBER}")), b"")
        asked = frozenset(range(int(said) if re.fullmatch(rb"\d{1,5}", said) else 0))
    found = {int(match[1]): key for key in there if (match := BATCH.search(key))}
    return Seen(_ending(results, handed, run_id, set(there)), asked, found)


def _ending(results: WorkStore, handed: Handed, run_id: str, there: set[str]) -> Ending | None:
    """None while it has not said anything. A failure counts, whatever else is there: the fork's finalizer writes the
    first, its batches may write the other."""
    for at in (f"{handed.key}/{run_id}/", f"{handed.key}/"):
        if at + FAILURE in there:
            told = [results.get(at + name) for name in (FAILURE, DETAILS) if at + name in there]
            return Ending("failed", b"\n".join(told).decode("utf-8", "replace").strip()[:WORDS])
        if at + SUCCESS in there:
            return Ending("succeeded")
    return None


def collect(store: WorkStore, plan: Plan, handed: Handed, seen: Seen) -> tuple[Summary, int]:
    """Makes out/NNNN.tsv of every batch (of an archive by the formatter, which needs the database), then hits.tsv and
    summary.json. The summary, and how many batches there were. Raises Unreadable with a sentence; and OSError, Unstored
    among them, when either store does not do what it is asked, which says nothing of the results.

    May be done again, with the same result.
    """
    if not seen.whole:
        raise Unreadable(f"not all of it is at {handed.results}: {_missing(seen)}")
    try:
        results = WorkStore(handed.at)
        for batch, (_, key) in enumerate(sorted(seen.found.items()), 1):
            _unpack(results, key, store, out_key(plan.run_id, batch, _suffix(handed.form)))
            if handed.form == "archive":
                _format(store, plan, batch)
        return merge(store, replace(plan, batches=batch)), batch
    except Unstored:
        raise
    except (WorkError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Unreadable(f"what is at {handed.results} cannot be read: {error}") from error
    except BadRow as error:
        raise Unreadable(f"what is at {handed.results} is no table as it was asked for: {error}") from error


def _missing(seen: Seen) -> str:
    if not seen.asked:
        return f"nothing says how many batches there were, and there are results of {len(seen.found)}"
    lacking = sorted((seen.asked | set(range(len(seen.asked)))) - set(seen.found))
    told = ", ".join(f"{batch:03d}" for batch in lacking[:20])
    return f"it made {len(seen.asked)} batches, and there are results of {len(seen.found)}; missing: {told or 'none'}"


def _suffix(form: Form) -> str:
    return {"table": "tsv", "archive": "asn"}[form]


def _unpack(results: WorkStore, key: str, store: WorkStore, target: str) -> None:
    with results.open(key) as packed, gzip.open(packed) as source, store.writing(target) as file:
        shutil.copyfileobj(source, file)


def _format(store: WorkStore, plan: Plan, batch: int) -> None:
    """The archive names the database as the cloud had it, so it is looked for by that name where ours is."""
    source, target = (out_key(plan.run_id, batch, end) for end in ("asn", "tsv"))
    with store.scratch(target) as scratch, store.local(source) as archive:
        try:
            done = subprocess.run(
                planning.formatter(archive=str(archive), out=str(scratch / "tsv")),
                env={**os.environ, "BLASTDB": str(Path(plan.database.path).parent)},
                stdin=subprocess.DEVNULL, capture_output=True, timeout=FORMATTING, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Unreadable(f"the archive of a batch could not be made a table within {FORMATTING:g} s") from None
        except FileNotFoundError as error:
            raise Unreadable(f"the archive of a batch could not be made a table: {error}") from None
        if done.returncode:
            words = done.stderr.decode("utf-8", "replace").strip()[-500:]
            raise Unreadable(f"the archive of a batch cannot be read with the database that is here: {words}")
        store.take(target, scratch / "tsv")
