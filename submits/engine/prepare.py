"""Preparation: a checked search becomes batches and a plan in the work store, once."""

from __future__ import annotations

from collections.abc import Callable

from submits.blast import plan as planning
from submits.blast.facts import DatabaseFacts
from submits.blast.intake import Search
from submits.blast.plan import Plan
from submits.blast.split import Rule
from submits.work import Missing, WorkStore, run_key

PLAN = "plan.json"


def batch_key(run_id: str, batch: int) -> str:
    return run_key(run_id, "batches", f"{batch:04d}.fa")


def out_key(run_id: str, batch: int, suffix: str) -> str:
    return run_key(run_id, "out", f"{batch:04d}.{suffix}")


def prepare(
    store: WorkStore,
    search: Search,
    database: DatabaseFacts,
    run_id: str,
    *,
    rule: Rule | None = None,
    threads: int = 1,
    alive: Callable[[], None] = lambda: None,
) -> Plan:
    """Writes batches/NNNN.fa and, last, plan.json. A run that has its plan keeps it: a second call changes nothing.

    `alive` is called before each file, and whatever it raises ends the preparation.
    """
    try:
        return read_plan(store, run_id)
    except Missing:
        pass
    plan = planning.make(search, database, run_id, rule=rule, threads=threads)
    for batch, fasta in enumerate(planning.batches(search, rule=rule), 1):
        alive()
        with store.writing(batch_key(run_id, batch)) as file:
            file.writelines(fasta)
    alive()
    with store.writing(run_key(run_id, PLAN)) as file:
        file.writelines(plan.pieces())
    return plan


def read_plan(store: WorkStore, run_id: str) -> Plan:
    """The plan of a prepared run; raises work.Missing when it is not prepared."""
    return Plan.from_json(store.get(run_key(run_id, PLAN)))
