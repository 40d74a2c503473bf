"""Jobs, Leases and sights as an API server would give them, for tests of what is decided about them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from submits.gates import naming
from submits.gates.line import Sight
from submits.gates.objects import Controls, Demand, Gate, Ticket
from submits.gates.ports import Knobs, Object, Rules, Times

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
RULES = Rules(Knobs(), Times())
_uids = count(1)


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def job(app: str, run: str | None, *, age: float = 5, changed: float | None = None, **status: Any) -> Object:
    uid = f"uid-{next(_uids)}"
    labels = {"app": app} | ({naming.ELB_JOB_ID: run} if run else {})
    return {
        "metadata": {
            "name": f"{app}-{uid}",
            "uid": uid,
            "labels": labels,
            "creationTimestamp": ago(age),
            "managedFields": [{"time": ago(age if changed is None else changed)}],
        },
        "status": status,
    }


def reservation(run: str, holder: str = "dashboard-1", *, leashed: bool = True, age: float = 5) -> Object:
    made = job("finalizer", None, age=age)
    made["metadata"]["labels"][naming.ROLE] = "reservation"
    made["metadata"]["annotations"] = {naming.FOR: run, naming.HOLDER: holder}
    if leashed:
        made["metadata"]["annotations"][naming.FAST_TTL] = "60"
    return made


def condition(kind: str, value: str = "True") -> dict[str, str]:
    return {"type": kind, "status": value}


def lease(holder: str = "", *, renewed: float = 1, leashed: bool = False, run: str = "", **spec: Any) -> Object:
    notes = {naming.HOLDER: holder, naming.FOR: run} | ({naming.FAST_TTL: "60"} if leashed else {})
    return {
        "metadata": {
            "name": "elb-blast-submit-default",
            "uid": "gate",
            "resourceVersion": "7",
            "annotations": notes if leashed or run else {},
            "managedFields": [
                {"time": ago(renewed), "fieldsV1": {"f:spec": {"f:renewTime": {}}}},
                {"time": ago(0), "fieldsV1": {"f:metadata": {"f:annotations": {}}}},
            ],
        },
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 900, **spec},
    }


def demand(uid: str, *, age: float = 60, silent: float = 0) -> Demand:
    """A job of an older door that is trying to get in."""
    return Demand(uid, NOW - timedelta(seconds=age), NOW - timedelta(seconds=silent))


def ticket(number: int, party: str = "dashboard", *, until: float = 3600) -> Ticket:
    return Ticket(
        name=f"elb-ticket-{number}",
        uid=f"ticket-{number}",
        order=number,
        submission=f"s{number}",
        run_id=f"job-{number}",
        party=party,
        created=NOW,
        until=NOW + timedelta(seconds=until),
    )


def sight(
    *tickets: Ticket,
    gate: Object | None = None,
    jobs: list[Object] | None = None,
    controls: Controls | None = None,
    rules: Rules = RULES,
    older: list[Demand] | None = None,
    holds: list[Object] | None = None,
) -> Sight:
    return Sight(
        gate=Gate.read(gate),
        tickets=tickets,
        jobs=tuple(jobs or []),
        controls=controls or Controls(),
        date=NOW,
        rules=rules,
        demand=tuple(older or []),
        holds=tuple(Gate.read(hold) for hold in holds or []),
    )
