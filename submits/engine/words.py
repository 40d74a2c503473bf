"""A failure in words: what BLAST said, what the cluster did to its Pods, with the author's own query names."""

from __future__ import annotations

import re
from typing import Any

from submits.blast.plan import Plan
from submits.engine.batch import Record, read_record
from submits.engine.launch import WORDS
from submits.engine.outcome import DETAIL
from submits.engine.progress import Failed
from submits.gates.naming import ELB_JOB_ID
from submits.gates.ports import Cluster, ClusterError
from submits.work import Missing, WorkStore, run_key

# A status that the same batch would give again: a query or an option, the database, no program. Not 3, the engine's
# own, which was seen for want of memory.
DETERMINED = (1, 2, 127)
_BLAST = {
    1: "BLAST did not accept the query or an option",
    2: "BLAST could not read the database",
    3: "BLAST's engine failed",
    4: "BLAST ran out of memory",
    127: "BLAST is not installed where the search runs",
    137: "BLAST was killed, most likely for want of memory",
    143: "BLAST was stopped",
}
_REASONS = {
    "DeadlineExceeded": "it took longer than a batch may take",
    "OOMKilled": "it needed more memory than it was given",
    "Evicted": "its node needed the room",
}
_INNER = re.compile(r"\bq(\d{6,})\b")


def own_names(text: str, plan: Plan) -> str:
    """`text` with the author's names in place of the inner ones."""

    def name(match: re.Match[str]) -> str:
        number = int(match[1])
        return plan.queries[number - 1].name if 0 < number <= len(plan.queries) else match[0]

    return _INNER.sub(name, text)


def settled(store: WorkStore, run_id: str, batch: int) -> Failed | None:
    """The failure of a batch that no further try can mend, by its own record."""
    record = read_record(store, run_id, batch)
    if record is None or record.exit not in DETERMINED:
        return None
    return Failed(batch, "BlastFailed", "")


def explain(cluster: Cluster, store: WorkStore, plan: Plan, failed: Failed) -> tuple[str, str]:
    """A sentence and the details of a failure."""
    if not failed.batch:
        return f"The search failed: {failed.sentence}.", own_names(_launch_words(store, plan.run_id), plan)
    where = f" in batch {failed.batch} of {plan.batches}" if plan.batches > 1 else ""
    record = read_record(store, plan.run_id, failed.batch)
    if record is not None and record.exit and failed.reason not in _REASONS:
        said = _BLAST.get(record.exit, f"BLAST ended with status {record.exit}")
        return f"{said}{where}.", own_names(_quote(record), plan)
    reason = _pod_reason(cluster, plan.run_id, failed.batch) or failed.reason
    why = _REASONS.get(reason, failed.sentence or reason or "its Job failed")
    return f"The search failed{where}: {why}.", f"{reason}: {failed.sentence}".strip(": ")


def warnings(store: WorkStore, plan: Plan) -> str:
    """What BLAST said although it succeeded, each line once."""
    lines: dict[str, None] = {}
    for batch in range(1, plan.batches + 1):
        record = read_record(store, plan.run_id, batch)
        if record is not None:
            lines.update(dict.fromkeys(line for line in record.stderr.splitlines() if line.strip()))
    return own_names("\n".join(lines), plan)[:DETAIL]


def _quote(record: Record) -> str:
    return record.stderr or f"{record.argv[0]} said nothing; its status was {record.exit}."


def _launch_words(store: WorkStore, run_id: str) -> str:
    try:
        return store.get(run_key(run_id, WORDS)).decode("utf-8", "replace")
    except Missing:
        return ""


def _pod_reason(cluster: Cluster, run_id: str, batch: int) -> str:
    """Why the last Pod of a batch ended, in the cluster's word (OOMKilled, Evicted, …); "" when it cannot be told."""
    try:
        pods = cluster.list("pods", labels=f"{ELB_JOB_ID}={run_id},app=blast").items
    except ClusterError:
        return ""
    suffix = f"-{batch:04d}"
    own = [pod for pod in pods if str(pod["metadata"].get("labels", {}).get("job-name", "")).endswith(suffix)]
    for pod in sorted(own, key=lambda pod: str(pod["metadata"].get("creationTimestamp")), reverse=True):
        reason = _reason(pod.get("status") or {})
        if reason and reason != "Error":
            return reason
    return ""


def _reason(status: dict[str, Any]) -> str:
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        for kind in ("terminated", "waiting"):
            if (state.get(kind) or {}).get("reason"):
                return str(state[kind]["reason"])
    return str(status.get("reason") or "")
