"""From the settings to what the gates need: the rules in force, the cluster of a scope, the work store."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from submits import cluster
from submits.blast.facts import DatabaseFacts
from submits.engine.leashed import LeashedSubmit
from submits.engine.settings import Settings, write
from submits.gates.ports import Knobs, Rules, Times
from submits.models import Cluster, Database
from submits.work import WorkStore

PARTY = "dashboard"  # this door's name


def rules() -> Rules:
    return Rules(
        knobs=Knobs(
            ceiling=settings.BLAST_MAX_RUN_CONCURRENCY,
            lease_ttl=settings.BLAST_SUBMIT_LEASE_TTL_SECONDS,
            skew=settings.BLAST_LEASE_CLOCK_SKEW_SECONDS,
            exec_timeout=settings.BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS,
            finalizer_grace=settings.BLAST_FINALIZER_GRACE_SECONDS,
            submit_wait_max=settings.BLAST_SUBMIT_SLOT_WAIT_MAX_SECONDS,
            capacity_wait_max=settings.BLAST_CAPACITY_WAIT_MAX_SECONDS,
        ),
        times=Times().scaled(settings.COORDUI_PROTOCOL_SCALE),
    )


def connection(scope: Cluster) -> cluster.Connection:
    kubeconfig = None if settings.COORDUI_CLUSTER == "incluster" else settings.KUBECONFIG
    return cluster.Connection(kubeconfig, scope.namespace, settings.COORDUI_CONTEXT or None)


def connect(scope: Cluster) -> cluster.ApiCluster:
    """Raises ClusterError when the address cannot be read."""
    return cluster.connect(connection(scope))


@lru_cache(maxsize=1)
def store() -> WorkStore:
    return WorkStore(settings.COORDUI_WORK_URL)


def submit_environment() -> dict[str, str]:
    """What the submit command sees: nothing of ours but where programs are."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "COORDUI_SUBMIT_JOURNAL") if name in os.environ}


def leashed_submit(scope: Cluster) -> LeashedSubmit:
    """Raises ClusterError when the address cannot be read."""
    configuration = write(Settings(namespace=scope.namespace, work_url=settings.COORDUI_WORK_URL))
    return LeashedSubmit(
        [settings.COORDUI_ENGINE],
        configuration,
        cluster.pinned_kubeconfig(connection(scope)),
        {**submit_environment(), "COORDUI_NAMESPACE": scope.namespace},
        store=store(),
        times=rules().times,
        parent=Path(settings.COORDUI_STATE) / "submits",
    )


def default_scope() -> Cluster:
    """The scope this installation works in; its row is made when it is first asked for."""
    scope, _ = Cluster.objects.get_or_create(name=settings.COORDUI_CLUSTER, namespace=settings.COORDUI_NAMESPACE)
    return scope


def register_database(scope: Cluster, facts: DatabaseFacts, description: str = "") -> Database:
    """A formatted database's row, made or brought up to date; its key is the scope's name for it."""
    values = {name: getattr(facts, name) for name in ("title", "path", "molecule", "sequences", "letters", "formatted")}
    if description:
        values["description"] = description
    database, _ = Database.objects.update_or_create(scope=scope, key=facts.key, defaults={**values, "ready": True})
    return database
