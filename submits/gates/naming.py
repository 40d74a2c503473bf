"""The names that both doors agree on (PROTOCOL: objects). All follow from a submission's id or a run id by hash."""

from __future__ import annotations

import hashlib
import uuid

ELB_JOB_ID = "elb-job-id"
APP = "app"
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
CONTROLS = "elb-coord-controls"
TICKETS = f"{KIND}=ticket"
COUNTED = f"{APP} in (finalizer,submit,blast)"
NOT_SUCCEEDED = "status.successful=0"


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


def finalizer(run: str) -> str:
    """ElasticBLAST's own name: only the last eight characters of the id are in it, so the label must be compared."""
    return f"elb-finalizer-{run[-8:]}"


def holder(party: str) -> str:
    """New for every acquisition, never shortened; the party is what the board shows."""
    return f"{party}-{uuid.uuid4().hex}"


def party_of(identity: str) -> str:
    return identity.rpartition("-")[0] or identity
