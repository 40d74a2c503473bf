"""Leases, Jobs and ConfigMaps in every shape: what an API server keeps, and what only a broken one would hand out."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from submits.gates import naming
from submits.gates.ports import Object
from tests.gates.made import NOW

RUNS = st.sampled_from(["job-1", "job-2", "job-1.aaaa", "", "a.b.c", "."])
HOLDERS = st.sampled_from([None, "", " ", "x", "dashboard-1", "openapi-2", "-", "ü-ü"]) | st.text(max_size=8)
WORDS = st.text(max_size=12)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2999, 1, 1)).map(lambda when: when.isoformat() + "Z")
STAMPS = st.integers(-100, 40_000).map(lambda s: (NOW - timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ"))
TIMES = (
    st.none()
    | STAMPS
    | MOMENTS
    | st.sampled_from(["", "soon", "2026-11-29", "2026-13-45T99:00:00Z", "2026-11-29T12:00:00.1Z", "24:00"])
)
APPS = st.sampled_from(["finalizer", "submit", "blast", "setup", "", "x"])
ROLES = st.sampled_from(["reservation", "guard", "pin", "", "x"])


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A dictionary that has each of these or not."""
    return st.fixed_dictionaries({}, optional=fields)


def labelled(**known: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str] | None]:
    names = {"app": naming.APP, "run": naming.ELB_JOB_ID, "role": naming.ROLE, "kind": naming.KIND}
    return st.none() | some(**known).map(lambda found: {names[key]: value for key, value in found.items()})


NOTES = st.none() | st.dictionaries(
    st.sampled_from([naming.HOLDER, naming.FAST_TTL, naming.FOR, naming.KEEP, naming.PARTY, naming.UNTIL, "x/y"]),
    st.sampled_from(["60", "61", "", "dashboard-1", "openapi-2", "job-1", "null", "9999-12-31T23:59:59.999999Z"])
    | WORDS,
    max_size=5,
)
FIELDS: st.SearchStrategy[Any] = st.sampled_from(
    [None, {}, {"f:spec": {"f:renewTime": {}}}, {"f:spec": {"f:holderIdentity": {}}}, {"f:metadata": {}}]
)
MANAGED = st.none() | st.lists(some(manager=WORDS, operation=WORDS, time=TIMES, fieldsV1=FIELDS), max_size=3)


def metas(labels: st.SearchStrategy[Any], notes: st.SearchStrategy[Any] = NOTES) -> st.SearchStrategy[Object]:
    """What the server itself always fills in is there; the rest is or is not."""
    always = {"name": WORDS, "uid": st.text(min_size=1, max_size=4), "resourceVersion": st.integers(1, 2**63).map(str)}
    sometimes = {
        "labels": labels,
        "annotations": notes,
        "creationTimestamp": TIMES,
        "deletionTimestamp": TIMES,
        "managedFields": MANAGED,
    }
    return st.fixed_dictionaries(always, optional=sometimes)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
SPECS = st.none() | some(
    holderIdentity=HOLDERS,
    leaseDurationSeconds=st.none() | st.integers(1, 2**31 - 1),
    acquireTime=TIMES,
    renewTime=TIMES,
    leaseTransitions=st.integers(0, 2**31 - 1),
)
BROKEN = st.none() | some(
    holderIdentity=HOLDERS,
    leaseDurationSeconds=st.none() | st.integers(1, 2**31 - 1),
    acquireTime=ANYTHING,
    renewTime=ANYTHING,
)
LEASES = some(spec=SPECS).flatmap(lambda made: metas(labelled(kind=WORDS)).map(lambda meta: {**made, "metadata": meta}))
BROKEN_LEASES = some(spec=BROKEN).flatmap(
    lambda made: metas(labelled(kind=WORDS)).map(lambda meta: {**made, "metadata": meta})
)
CONDITIONS = st.none() | st.lists(
    some(
        type=st.sampled_from(["Complete", "Failed", "Suspended", "SuccessCriteriaMet", "FailureTarget", "x"]),
        status=st.sampled_from(["True", "False", "Unknown"]),
        reason=WORDS,
    ),
    max_size=3,
)
NUMBERS = st.none() | st.integers(0, 3)
STATUSES = st.none() | some(
    active=NUMBERS, succeeded=NUMBERS, failed=NUMBERS, ready=NUMBERS, completionTime=TIMES, conditions=CONDITIONS
)
JOBS = some(status=STATUSES, spec=st.none() | some(suspend=st.booleans())).flatmap(
    lambda made: metas(labelled(app=APPS, run=RUNS, role=ROLES)).map(lambda meta: {**made, "metadata": meta})
)
CONFIG_MAPS = st.none() | some(
    data=st.none()
    | st.dictionaries(
        st.sampled_from(["drained", "paused", "ceiling", "x"]),
        st.sampled_from(["true", "True", "", "0", "-1", "3", "1e9", "٣", "999999999999", "openapi,dashboard", ",,"])
        | WORDS,
    )
)
