"""What a process that leads searches through the gates asks first: one place, no other kind of gate, its power.

The settings alone are `checks`; this asks cluster and store, so only the gatekeeper and the submit workers do it.
"""

from __future__ import annotations

import json
import logging
from configparser import ConfigParser
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from submits import elastic, redisgate
from submits.checks import refuse, refuse_to_start
from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.cluster.power import lacking
from submits.gates import naming
from submits.gates.backends import Backend, Choice
from submits.gates.counting import is_terminal, role
from submits.gates.hold import until_definite
from submits.gates.invariants import Broken, one_place
from submits.gates.objects import Gate, created
from submits.gates.ports import ClusterError, NotFound
from submits.models import Cluster
from submits.scopes import backend, configured_scope, connect, connection, leashed_submit, rules, store

log = logging.getLogger(__name__)
CLUSTER_ANSWERS_WITHIN = 30.0  # seconds


def refuse_to_admit() -> None:
    """Needs no database, which may be away for a while. Raises ImproperlyConfigured with a sentence; ClusterError when
    the cluster's address cannot be read.

    1. The settings do not contradict each other.
    2. Gates, count and engine are of one namespace and one credential.
    3. Nothing of another kind of gate is held: two kinds do not see each other. (PROTOCOL: roll-out.)
    4. The engine's own program is there and fits, if it is not ours.
    5. What we may not do is logged, verb by verb; the gatekeeper goes on asking and `/readyz` says it.
    """
    refuse_to_start()
    scope = configured_scope()
    chosen, cluster = backend(), connect(scope)
    log.info("the gates are %s; scope %s", chosen, scope)
    refuse(in_one_place(scope))
    if held := held_elsewhere(chosen, scope, cluster):
        raise ImproperlyConfigured(held)
    refuse_engine(chosen)
    say_power(cluster)


def in_one_place(scope: Cluster) -> list[Broken]:
    """What the gates are connected to, beside what the submit is given: its configuration, kubeconfig, environment."""
    gates, submit = connection(scope), leashed_submit(scope)
    engine = ConfigParser(interpolation=None)
    engine.read_string(submit.configuration)
    pinned = json.loads(submit.kubeconfig)
    namespaces = {
        "gates and count": gates.namespace,
        "engine": engine.get("cluster", "namespace"),
        "submit's kubeconfig": pinned["contexts"][0]["context"]["namespace"],
        "submit's environment": submit.environment["COORDUI_NAMESPACE"],
    }
    servers = {
        "gates and count": gates.configuration().host.rstrip("/"),
        "submit's kubeconfig": pinned["clusters"][0]["cluster"]["server"].rstrip("/"),
    }
    return one_place(namespaces, servers)


def refuse_engine(chosen: Choice) -> None:
    """Raises ImproperlyConfigured; what was found is kept for `/readyz` in any case."""
    if not elastic.is_chosen():
        return
    broken = elastic.broken_program(chosen.backend)
    elastic.keep(store(), broken)
    refuse(broken)
    log.info("the engine is %s", elastic.found())


def held_elsewhere(chosen: Choice, scope: Cluster, cluster: ApiCluster) -> str:
    """Why this backend must not begin yet, and for how many seconds at most; "" when it may."""
    found: list[tuple[str, float]] = []
    if chosen.in_store:
        try:
            found += until_definite(lambda: held_in_cluster(cluster), SystemClock(), CLUSTER_ANSWERS_WITHIN)
        except ClusterError as error:
            return f"whether the gates of the k8s backend are held cannot be told, so {chosen} does not begin: {error}"
    for other in {Backend.LOCK, Backend.SLOTS} - {chosen.backend}:
        found += held_in_store(other, scope)
    if not found:
        return ""
    told = "; ".join(f"{what}, for at most {seconds:.0f} s" for what, seconds in found)
    longest = max(seconds for _, seconds in found)
    return (
        f"the gates are {chosen}, and those of another backend are still held: {told}. Two kinds of gate do not see "
        f"each other. Start again when nothing is being submitted any more, in {longest:.0f} s at the latest."
    )


def held_in_cluster(cluster: ApiCluster) -> list[tuple[str, float]]:
    """The gate Lease's live holder and the live reservations: what each is, and seconds. Raises ClusterError."""
    in_force, found = rules(), []
    try:
        answer = cluster.get("leases", naming.gate(cluster.namespace))
    except NotFound:
        pass
    else:
        gate = Gate.read(answer.object)
        if not gate.is_open(answer.date, in_force):
            ends = gate.free_by(in_force)
            left = (ends - answer.date).total_seconds() if ends else gate.patience(in_force)
            found.append((f"the Lease by {gate.holder}", left))
    listing = cluster.list("jobs", naming.COUNTED, naming.NOT_SUCCEEDED)
    for job in listing.items:
        made = created(job)
        if role(job) == "reservation" and not is_terminal(job) and made is not None:
            ends = made + timedelta(seconds=job["spec"].get("activeDeadlineSeconds") or in_force.times.reservation)
            found.append((f"a place by {job['metadata']['name']}", max(0.0, (ends - listing.date).total_seconds())))
    return found


def held_in_store(other: Backend, scope: Cluster) -> list[tuple[str, float]]:
    """By older systems, or by this one before its backend was changed. A store that is away hinders nobody."""
    gate = redisgate.store_gate(settings.REDIS_URL, other, settings.COORDUI_CLUSTER_NAME, scope.namespace, 1, 1)
    try:
        return [(f"{gate.key} by {held.holder}", held.seconds) for held in gate.held()]
    except redisgate.StoreUnanswered as error:
        log.warning("whether an older gate is held in the store is not known: %s", error)
        return []


def say_power(cluster: ApiCluster) -> None:
    try:
        for one in lacking(cluster):
            log.error("%s", one)
    except ClusterError as error:
        log.warning("what this account may do is not known yet: %s", error)
