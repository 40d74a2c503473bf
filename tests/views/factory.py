"""People, databases and searches in every state, and results that real BLAST made."""

from __future__ import annotations

import functools
import shutil
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from submits import demo, live
from submits.blast.databases import format_fasta
from submits.blast.facts import DatabaseFacts
from submits.blast.intake import Search, read_search
from submits.blast.summary import Summary
from submits.catalogue import register_database
from submits.engine import batch, merge, outcome
from submits.engine.outcome import Outcome
from submits.engine.prepare import prepare
from submits.gates import naming
from submits.models import Cluster, Database, Event, Submission, new_key
from submits.scopes import default_scope, store
from submits.states import Phase, Status
from submits.work import run_key


def person(name: str, *, operator: bool = False, administrator: bool = False) -> User:
    return User.objects.create_user(name, password="hush", is_staff=operator, is_superuser=administrator)


@functools.cache
def formatted(name: str) -> DatabaseFacts:
    """One of the demo's FASTA files as a real database, made once a run."""
    source = next(entry for entry in demo.databases() if entry.key == name)
    directory = Path(tempfile.mkdtemp(prefix="coordui-db-"))
    facts = format_fasta(source.fasta, directory / name, source.title)
    return replace(facts, key=name, title=source.title)


def database(name: str = "globins") -> Database:
    return register_database(default_scope(), formatted(name))


def submission(owner: User, **values: Any) -> Submission:
    key = values.pop("key", "") or new_key()
    defaults: dict[str, Any] = {
        "scope": default_scope(),
        "database": values.pop("database", None) or database(),
        "run_id": naming.run_id(key),
        "title": "Human haemoglobin",
        "program": "blastp",
        "options": {"task": "blastp", "evalue": "0.05", "max_target_seqs": "100", "low_complexity": "no"},
        "queries": 1,
        "letters": 146,
    }
    row = Submission.objects.create(key=key, owner=owner, **{**defaults, **values})
    Event.record(row, row.created_at)
    return row


def waiting(owner: User, *, since: int = 60, **values: Any) -> Submission:
    ticket = timezone.now() - timedelta(seconds=since)
    defaults = {"status": Status.WAITING, "phase": Phase.IN_LINE, "ticket_at": ticket, "batches": 1}
    return submission(owner, **{**defaults, **values})


def running(owner: User, *, done: int = 7, batches: int = 20, **values: Any) -> Submission:
    now = timezone.now()
    return submission(
        owner,
        status=Status.RUNNING,
        phase=Phase.SEARCHING,
        ticket_at=now - timedelta(seconds=90),
        submitted_at=now - timedelta(seconds=40),
        batches=batches,
        batches_done=done,
        **values,
    )


def completed(owner: User, text: str = "", name: str = "globins", **values: Any) -> Submission:
    """A search that real BLAST has run, batch by batch, as the cluster's Jobs would."""
    row = submission(owner, database=database(name), **{"program": "blastp", **values})
    text = text or demo.EXAMPLE.query()
    summary, batches = run(row.run_id, text, name, row.program, tuple(sorted(row.options.items())))
    now = timezone.now()
    row.status, row.phase, row.finished_at = Status.COMPLETED, Phase.READY, now
    row.ticket_at, row.submitted_at = now - timedelta(seconds=20), now - timedelta(seconds=8)
    row.queries, row.letters = len(summary.queries), sum(query.length for query in summary.queries)
    row.batches = batches
    row.batches_done, row.hits, row.queries_with_hits = batches, summary.hits, summary.queries_with_hits
    row.version += 1
    row.save()
    Event.record(row, now)
    return row


def run(run_id: str, text: str, name: str, program: str, options: tuple[tuple[str, str], ...]) -> tuple[Summary, int]:
    """The files of the run. What has been searched before is not searched again: only its files are written."""
    files, summary, batches = searched(text, name, program, options)
    for file, data in files.items():
        store().put(run_key(run_id, file), data)
    return summary, batches


@functools.cache
def searched(
    text: str, name: str, program: str, options: tuple[tuple[str, str], ...]
) -> tuple[dict[str, bytes], Summary, int]:
    run_id = naming.run_id(new_key())
    found = read_search(text, program=program, database=formatted(name), options=dict(options))
    assert isinstance(found, Search), found
    store().put(run_key(run_id, "query.fa"), text.encode())
    plan = prepare(store(), found, formatted(name), run_id)
    for number in range(1, plan.batches + 1):
        assert batch.run(store(), run_id, number) == 0
    summary = merge.merge(store(), plan)
    made = Outcome(
        "succeeded", len(summary.queries), summary.queries_with_hits, summary.hits, plan.batches, "2.12.0+", "", ""
    )
    outcome.write_outcome(store(), run_id, made)
    names = ("query.fa", "plan.json", "hits.tsv", "summary.json", "outcome.json")
    return {file: store().get(run_key(run_id, file)) for file in names}, summary, plan.batches


def iso(ago: int) -> str:
    return (datetime.now(UTC) - timedelta(seconds=ago)).isoformat(timespec="seconds")


def slot(row: Submission | None, *, ago: int = 40, **values: Any) -> live.Slot:
    run_id = row.run_id if row else f"job-{ago:032x}"
    made = live.Slot(
        key=run_id, run_id=run_id, party="dashboard" if row else "openapi", since=iso(ago),
        what="running", batches=20, batches_done=7, merging=False,
    )  # fmt: skip
    return live.Slot(**{**made, **values})  # type: ignore[typeddict-item]


def place(row: Submission | None, position: int, *, ago: int = 60) -> live.Place:
    key = row.key if row else f"api-{position}"
    run_id = row.run_id if row else f"job-{position:032x}"
    party = "dashboard" if row else "openapi"
    return live.Place(submission=key, run_id=run_id, party=party, since=iso(ago), position=position, skipped=False)


def lease(row: Submission | None = None, *, ago: int = 42) -> live.Lease:
    party = "dashboard" if row else "openapi"
    return live.Lease(
        holder=f"{party}-{'0' * 32}", source=party, since=iso(ago), renewed=iso(3), free_by=iso(-60),
        run_id=row.run_id if row else None, leashed=row is not None,
    )  # fmt: skip


def publish(scope: Cluster | None = None, **values: Any) -> live.View:
    """A snapshot as a gatekeeper would publish it at this moment."""
    view = live.View(**{**live.empty_view(3), "gate": "open", "answered_at": iso(0), **values})  # type: ignore[typeddict-item]
    live.publish(scope or default_scope(), view)
    return view


def forget_databases() -> None:
    for name in ("globins", "lambda"):
        shutil.rmtree(Path(formatted(name).path).parent, ignore_errors=True)
