"""The batches' tables become one, in batch order, counted as they go by."""

from __future__ import annotations

from submits.blast.plan import Plan
from submits.blast.summary import Counter, Summary
from submits.engine.prepare import out_key
from submits.work import WorkStore, run_key

TABLE = "hits.tsv"
SUMMARY = "summary.json"


def merge(store: WorkStore, plan: Plan) -> Summary:
    """Writes hits.tsv, then summary.json, each whole or not at all; may be done again, with the same result.

    Raises work.Missing when a batch has no table and table.BadRow when one is not what was asked for.
    """
    counter = Counter(plan)
    with store.scratch(run_key(plan.run_id, TABLE)) as scratch:
        with (scratch / TABLE).open("wb") as file:
            for batch in range(1, plan.batches + 1):
                with store.open(out_key(plan.run_id, batch, "tsv")) as table:
                    file.writelines(counter.count(table))
        summary = counter.summary()
        with (scratch / SUMMARY).open("wb") as file:
            file.writelines(summary.pieces())
        for name in (TABLE, SUMMARY):
            store.take(run_key(plan.run_id, name), scratch / name)
    return summary
