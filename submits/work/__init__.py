"""The WorkStore: every file of every search (queries, batches, tables, archives, logs, outcomes).

A directory that we and the Pods mount, or a prefix in an object store. Who writes what: the web `query.fa`, the
preparation `plan.json` and `batches/`, the submit `log.txt`, the gatekeeper `logs/`, a batch's Pod its `out/`, the
finalizer `hits.tsv`, `summary.json` and, last and once, `outcome.json`.
"""

from __future__ import annotations

from submits.work.brisk import brisk
from submits.work.files import Info
from submits.work.keys import RUN_ID, Missing, Unstored, WorkError, run_key
from submits.work.places import identity, unshared
from submits.work.store import WorkStore

__all__ = [
    "RUN_ID",
    "Info",
    "Missing",
    "Unstored",
    "WorkError",
    "WorkStore",
    "brisk",
    "identity",
    "run_key",
    "unshared",
]
