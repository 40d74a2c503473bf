"""The names that both doors agree on (PROTOCOL: objects). All follow from a submission's id or a run id by hash."""

from __future__ import annotations

import hashlib
import uuid

ELB_JOB_ID = "elb-job-id"
APP = "app"
OURS = "coordui/"
ROLE = "coordui/role"
KIND = "coordui/kind"
FOR = "coordui/for"
HOLDER = "coordui/holder"
FAST_TTL = "coordui/fast-ttl"
PARTY = "coordui/party"
SUBMISSION = "coordui/submission"
UNTIL = "coordui/until"
KEEP = "coordui/keep"
RUN = "coordui/run"
CHILD_WAITS = "coordui/child-waits"
CONTROLS = "elb-coord-controls"
TICKETS = f"{KIND}=ticket"
COUNTED = f"{APP} in (finalizer,submit,blast)"
NOT_SUCCEEDED = "status.successful=0"
V1_TRYING = "elb-job=true,status=submitting"  # the jobs of an older API service that are trying to get in


def digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def gate(namespace: str) -> str:
    return f"elb-blast-submit-{namespace}"


def run_id(submission: str) -> str:
    return f"job-{digest(submission, 32)}"


def ticket(submission: str) -> str:
    return f"elb-ticket-{digest(submission, 16)}"


def reservation(run: str, token: int) -> str:
    return f"elb-resv-{digest(run, 12)}-{token}"


def of_run(run: str) -> str:
    """The selector of all Jobs of one id."""
    return f"{ELB_JOB_ID}={run}"


def of_runs(runs: list[str]) -> str:
    return f"{ELB_JOB_ID} in ({','.join(runs)})"


def pin(finalizer_uid: str) -> str:
    return f"elb-pin-{finalizer_uid.replace('-', '')[:16]}"


def guard(run: str) -> str:
    return f"elb-guard-{digest(run, 12)}"


def child(parent: str) -> str:
    """A split child's run id; counted under its parent's, which ends at the first dot."""
    return f"{parent}.{uuid.uuid4().hex[:8]}"


def parent(run: str) -> str:
    return run.partition(".")[0]


def finalizer(run: str) -> str:
    """ElasticBLAST's own name: only the last eight characters of the id are in it, so the label must be compared."""
    return f"elb-finalizer-{run[-8:]}"


def holder(party: str) -> str:
    """New for every acquisition, never shortened; the party is what the board shows."""
    return f"{party}-{uuid.uuid4().hex}"


def party_of(identity: str) -> str:
    return identity.rpartition("-")[0] or identity
