"""A failure in words: what BLAST said, what the cluster did to its Pods, with the author's own query names."""

from __future__ import annotations

import re
from typing import Any

from submits.blast.plan import Plan
from submits.engine.batch import Record, read_record
from submits.engine.diagnosis import ENDED, at_last, diagnose, exit_of, is_determined, of_exit, word_of, words_of
from submits.engine.jobs import Names
from submits.engine.launch import WORDS
from submits.engine.outcome import DETAIL
from submits.engine.progress import Failed
from submits.gates.naming import ELB_JOB_ID
from submits.gates.ports import Cluster, ClusterError
from submits.states import REASONS, Reason
from submits.work import Missing, WorkStore, run_key

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
    if record is None or not is_determined(record.exit, record.stderr):
        return None
    return Failed(batch, "BlastFailed", "")


def explain(cluster: Cluster, store: WorkStore, plan: Plan, failed: Failed) -> tuple[Reason, str, str]:
    """The reason of a failure, a sentence and the details."""
    if not failed.batch:
        details = own_names(_launch_words(store, plan.run_id), plan)
        return Reason(failed.reason), f"The search failed: {failed.sentence}.", details
    status = _pod_status(cluster, plan.run_id, failed.batch)
    if failed.reason in ENDED:  # the Job's own end; its Pods are taken away then
        status["reason"] = failed.reason
    record = read_record(store, plan.run_id, failed.batch)
    # Without a record BLAST itself has not ended: the Pod's own program has, whose statuses mean other things.
    ended = (record.exit, record.stderr) if record else (137, "") if exit_of(status) == 137 else (None, "")
    reason = at_last(diagnose(status, *ended))
    where = f" (batch {failed.batch} of {plan.batches})" if plan.batches > 1 else ""
    own = record and record.exit and reason == at_last(of_exit(record.exit, record.stderr))
    told = own_names(_quote(record), plan) if record and own else ""
    cluster_said = ": ".join(filter(None, (word_of(status) or failed.reason, words_of(status) or failed.sentence)))
    return reason, f"{REASONS[reason].sentence.rstrip('.')}{where}.", told or cluster_said


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


def _pod_status(cluster: Cluster, run_id: str, batch: int) -> dict[str, Any]:
    """The status of a batch's last Pod; {} when it cannot be told."""
    try:
        pods = cluster.list("pods", labels=f"{ELB_JOB_ID}={run_id},job-name={Names(run_id).blast(batch)}").items
    except ClusterError:
        return {}
    last = max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp")), default={})
    return dict(last.get("status") or {})
