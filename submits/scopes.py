"""From the settings to what the gates need: the rules in force, the cluster of a scope, the work store."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

from django.conf import settings

from submits import cluster, elastic, redisgate
from submits.blast.facts import is_stored
from submits.cluster.kept import KEPT
from submits.engine.leashed import LeashedSubmit
from submits.engine.settings import Settings, write
from submits.gates import admission
from submits.gates.backends import Choice, choose
from submits.gates.ports import Knobs, Rules, Times
from submits.gates.verdicts import Means, Run, Verdict
from submits.models import Cluster
from submits.work import WorkStore, identity

PARTY = "dashboard"  # this door's name
PROGRAM = "coordui-engine"  # what a submit runs, whichever engine it drives


def rules() -> Rules:
    # The yield is measured against the protocol's own times, so it is scaled with them.
    scale = settings.COORDUI_PROTOCOL_SCALE
    return Rules(
        knobs=Knobs(
            ceiling=settings.BLAST_MAX_RUN_CONCURRENCY,
            lease_ttl=settings.BLAST_SUBMIT_LEASE_TTL_SECONDS,
            skew=settings.BLAST_LEASE_CLOCK_SKEW_SECONDS,
            exec_timeout=settings.BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS,
            finalizer_grace=settings.BLAST_FINALIZER_GRACE_SECONDS,
            submit_wait_max=settings.BLAST_SUBMIT_SLOT_WAIT_MAX_SECONDS,
            capacity_wait_max=settings.BLAST_CAPACITY_WAIT_MAX_SECONDS,
            v1_yield=settings.BLAST_V1_YIELD_SECONDS * scale,
            split_child_wait_max=settings.BLAST_SPLIT_CHILD_GATE_WAIT_MAX_SECONDS,
            split_parent_budget=settings.BLAST_SPLIT_PARENT_GATE_BUDGET_SECONDS,
        ),
        times=Times().scaled(scale),
    )


def backend() -> Choice:
    """Where the gates of this installation are, and why. Raises UnknownBackend."""
    return choose(settings.BLAST_COORD_BACKEND, settings.BLAST_GATE_ENABLED)


@lru_cache(maxsize=4)
def store_gate(chosen: Choice, namespace: str) -> redisgate.StoreGate:
    """The gate in the key-value store, for the two backends that have it there."""
    return redisgate.store_gate(
        settings.REDIS_URL,
        chosen.backend,
        settings.COORDUI_CLUSTER_NAME,
        namespace,
        settings.BLAST_SUBMIT_LEASE_TTL_SECONDS,
        settings.BLAST_GATE_MAX_SLOTS_PER_CLUSTER,
    )


def admitter(scope: Cluster) -> Callable[[Run, Means], Verdict]:
    """The one admit() of this installation; all three take and give the same."""
    chosen = backend()
    if not chosen.in_store:
        return admission.admit
    return partial(redisgate.admit, store_gate(chosen, scope.namespace))


def connection(scope: Cluster) -> cluster.Connection:
    kubeconfig = None if settings.COORDUI_CLUSTER == "incluster" else settings.KUBECONFIG
    return cluster.Connection(kubeconfig, scope.namespace, settings.COORDUI_CONTEXT or None)


def connect(scope: Cluster) -> cluster.ApiCluster:
    """Raises ClusterError when the address cannot be read."""
    return KEPT.connect(connection(scope))


@lru_cache(maxsize=1)
def store() -> WorkStore:
    return WorkStore(settings.COORDUI_WORK_URL)


def submit_environment() -> dict[str, str]:
    """What the submit command sees: nothing of ours but where programs are, who we are to an object store, and the
    journal."""
    passed = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    passed |= identity(settings.COORDUI_WORK_URL, os.environ)
    passed |= elastic.environment() if elastic.is_chosen() else {}
    return {**passed, "COORDUI_SUBMIT_JOURNAL": settings.COORDUI_SUBMIT_JOURNAL}


def engine_settings(scope: Cluster) -> Settings:
    """How the engine runs Jobs in this installation."""
    return Settings(
        namespace=scope.namespace,
        work_url=settings.COORDUI_WORK_URL,
        image=settings.COORDUI_BLAST_IMAGE,
        service_account=settings.COORDUI_ENGINE_ACCOUNT,
        work_claim=settings.COORDUI_WORK_CLAIM,
        work_secret=settings.COORDUI_WORK_SECRET,
        work_account=settings.COORDUI_WORK_ACCOUNT,
        database_claim=settings.COORDUI_BLASTDB_CLAIM,
        database_root=database_place(),
    )


def database_place() -> str:
    """Where databases are looked for: absolute, links as they stand, or the address of a prefix; "" for nowhere."""
    place = str(settings.COORDUI_BLASTDB or "")
    return place if is_stored(place) or not place else os.path.abspath(place)


def leashed_submit(scope: Cluster) -> LeashedSubmit:
    """Raises ClusterError when the address cannot be read."""
    configuration = write(engine_settings(scope))
    if elastic.is_chosen():
        configuration += elastic.section(rules())
    return LeashedSubmit(
        [PROGRAM],
        configuration,
        KEPT.pinned(connection(scope)),
        {**submit_environment(), "COORDUI_NAMESPACE": scope.namespace},
        store=store(),
        times=rules().times,
        parent=Path(settings.COORDUI_STATE) / "submits",
        log_bytes=settings.COORDUI_SUBMIT_LOG_BYTES,
        keep=settings.COORDUI_KEEP_SUBMITS,
    )


def configured_scope() -> Cluster:
    """The scope this installation works in, by its settings alone: not the row."""
    return Cluster(name=settings.COORDUI_CLUSTER, namespace=settings.COORDUI_NAMESPACE)


def default_scope() -> Cluster:
    """The same as a row, which is made when it is first asked for."""
    scope, _ = Cluster.objects.get_or_create(name=settings.COORDUI_CLUSTER, namespace=settings.COORDUI_NAMESPACE)
    return scope
