"""Standing in a line, and what it sees: listed afresh from a cluster, as any process would at its start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.cluster.reflector import Heard
from submits.cluster.seen import Seen, sources
from submits.gates.line import Sight
from submits.gates.objects import ticket_body
from submits.gates.ports import Rules
from submits.gates.repair import Bookkeeping, carry_out, plan
from tests.gates.wire import Calm


def look(cluster: ApiCluster, rules: Rules) -> Sight:
    seen = Seen(cluster.namespace, rules)
    for source in sources(cluster.namespace):
        seen.hear(Heard(source.name, cluster.list(source.kind, source.labels, source.fields)), 0.0)
    assert seen.synced
    return seen.sight(0.0)


def stand_in_line(one: Calm) -> None:
    until = datetime.now(UTC) + timedelta(days=1)
    one.cluster.create("leases", ticket_body(one.what.submission, one.what.run_id, one.what.party, until))


def mend_everything(one: Calm) -> None:
    """What a repairer does that has seen everything for long enough."""
    books = Bookkeeping()
    plan(look(one.cluster, one.rules), books, 0)
    seen = look(one.cluster, one.rules)
    for act in plan(seen, books, 1000):
        carry_out(act, one.cluster, SystemClock(), seen, books)
