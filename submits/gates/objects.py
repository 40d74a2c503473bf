"""Reading and building the gates' Kubernetes objects. Pure: plain JSON in, records out, and the other way round."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from submits.gates import naming
from submits.gates.ports import Object, Rules

YES, NO = frozenset({"true", "yes", "on", "1"}), frozenset({"", "false", "no", "off", "0"})
READABLE = {
    "drained": "true or false",
    "paused": "the names of doors, with commas between them",
    "ceiling": "a whole number",
}
FAST = "60"  # the annotation's value is the protocol's number, whatever tests scale the times to
LAST = datetime.max.replace(tzinfo=UTC)  # whoever writes a Lease may date its managedFields itself, in any year


def micro_time(when: datetime) -> str:
    """Exactly six fractional digits and Z: the API server answers 400 to anything else, `isoformat()` drops zeros."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: Any) -> datetime | None:
    """A Kubernetes time; None when absent or written in a shape nobody can read."""
    try:
        parsed = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def notes_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def created(obj: Object) -> datetime | None:
    return parse_time(obj["metadata"].get("creationTimestamp"))


def last_written(obj: Object) -> datetime | None:
    """The newest managedFields time: stamped by the API server, so no client's clock is in it."""
    entries = obj["metadata"].get("managedFields") or []
    times = [when for entry in entries if (when := parse_time(entry.get("time")))]
    return max(times, default=None)


def _owns_renew_time(entry: Any) -> bool:
    fields = entry.get("fieldsV1") or {}
    return "f:renewTime" in (fields.get("f:spec") or {})


@dataclass(frozen=True)
class Gate:
    """The gate Lease as one GET or watch event shows it; `exists=False` when there is none yet."""

    exists: bool
    uid: str = ""
    version: str = ""
    holder: str = ""
    duration: int | None = None
    acquired: datetime | None = None
    renewed: datetime | None = None
    run_id: str = ""
    party: str = ""
    leashed: bool = False
    ours: bool = False  # its holder wrote our annotations

    @property
    def v1(self) -> bool:
        """Held by an older door, which writes none of our annotations."""
        return bool(self.holder) and not self.ours

    @classmethod
    def read(cls, lease: Object | None) -> Gate:
        """Of any legal shape: no spec, no duration, foreign annotations."""
        if lease is None:
            return cls(exists=False)
        spec = lease.get("spec") or {}
        meta = lease["metadata"]
        holder = spec.get("holderIdentity") or ""
        notes = notes_of(lease)
        # A v1 party's PUT erases our annotations; one that patches only the holder leaves them: so they are
        # believed only together with the holder they were written for.
        ours = bool(holder) and notes.get(naming.HOLDER) == holder
        owners = [e for e in meta.get("managedFields") or [] if _owns_renew_time(e)]
        renewed = max((t for e in owners if (t := parse_time(e.get("time")))), default=None) or last_written(lease)
        return cls(
            exists=True,
            uid=meta.get("uid", ""),
            version=meta.get("resourceVersion", ""),
            holder=holder,
            duration=duration_of(spec),
            acquired=parse_time(spec.get("acquireTime")),
            renewed=renewed,
            run_id=notes.get(naming.FOR, "") if ours else "",
            party=naming.party_of(holder) if holder else "",
            leashed=ours and notes.get(naming.FAST_TTL) == FAST,
            ours=ours,
        )

    def patience(self, rules: Rules) -> float:
        """Seconds without a renewal after which the gate may be taken over."""
        if self.leashed:
            return rules.times.fast_takeover
        return (self.duration or rules.knobs.lease_ttl) + rules.knobs.skew

    def free_by(self, rules: Rules) -> datetime | None:
        """When it can be taken over if its holder is dead; None when it is free, or nothing tells its age.

        In whole seconds, as the server stamps and answers, each cut off: the age may be up to a second less.
        """
        if not self.holder or self.renewed is None:
            return None
        return self.renewed + min(timedelta(seconds=math.ceil(self.patience(rules))), LAST - self.renewed)

    def is_open(self, date: datetime, rules: Rules, seen_for: float = 0.0) -> bool:
        """Free, or expired by the API server's clock: `date` is the Date of the answer that returned this Lease.

        Without managedFields only how long we ourselves have seen the same version (`seen_for`) counts.
        """
        if not self.holder:
            return True
        free_by = self.free_by(rules)
        return seen_for > self.patience(rules) if free_by is None else date >= free_by


@dataclass(frozen=True)
class Ticket:
    """A place in line. Its order is etcd's own revision, with no clock in it."""

    name: str
    uid: str
    order: int
    submission: str
    run_id: str
    party: str
    created: datetime | None
    until: datetime | None

    @classmethod
    def read(cls, lease: Object) -> Ticket:
        meta, notes = lease["metadata"], notes_of(lease)
        return cls(
            name=meta["name"],
            uid=meta.get("uid", ""),
            order=int(meta.get("resourceVersion") or 0),
            submission=notes.get(naming.SUBMISSION, ""),
            run_id=notes.get(naming.RUN, ""),
            party=notes.get(naming.PARTY, ""),
            created=created(lease),
            until=parse_time(notes.get(naming.UNTIL)),
        )

    def is_dead(self, date: datetime, grace: float = 60.0) -> bool:
        """Ignored, and to be deleted by any party. Without an end it has none."""
        return self.until is not None and date - timedelta(seconds=grace) > self.until


@dataclass(frozen=True)
class Demand:
    """A job of an older API service that is trying to get in: a ConfigMap `elb-job=true,status=submitting`."""

    uid: str
    created: datetime | None
    changed: datetime | None  # its newest managedFields time; its creation where a proxy took those away

    @classmethod
    def read(cls, config_map: Object) -> Demand:
        made = created(config_map)
        return cls(config_map["metadata"].get("uid", ""), made, last_written(config_map) or made)


def duration_of(spec: Object) -> int | None:
    """Seconds; None for what no API server keeps (it takes positive 32-bit numbers), so that the TTL knob counts."""
    seconds = spec.get("leaseDurationSeconds")
    return seconds if type(seconds) is int and 0 < seconds < 2**31 else None


@dataclass(frozen=True)
class Unchanged:
    """For how long somebody has seen the gate at one version, in seconds of their own monotonic clock.

    What tells a hold's age where a proxy strips managedFields. It counts only while the gate is still at `version`.
    """

    version: str = ""
    seconds: float = 0.0

    def of(self, gate: Gate) -> float:
        return self.seconds if gate.version and gate.version == self.version else 0.0


@dataclass(frozen=True)
class Controls:
    """What operators have set for both doors. `trouble`: a sentence for each value that cannot be read; whoever wrote
    it meant to stop something, so it stops everything until it can be."""

    drained: bool = False
    paused: frozenset[str] = frozenset()
    ceiling: int | None = None
    trouble: str = ""

    @classmethod
    def read(cls, config_map: Object | None) -> Controls:
        data = (config_map or {}).get("data") or {}
        told = {key: str("" if data.get(key) is None else data[key]).strip().casefold() for key in READABLE}
        paused = frozenset(re.split(r"[\s,]+", told["paused"])) - {""}
        readable = {
            "drained": told["drained"] in YES | NO,
            "paused": all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*", party) for party in paused),
            "ceiling": re.fullmatch(r"[0-9]{0,18}", told["ceiling"]) is not None,
        }
        unread = [
            f"{naming.CONTROLS}: {key} {data[key]!r:.80} cannot be read; give {READABLE[key]}, or take the key out"
            for key, fine in readable.items()
            if not fine
        ]
        return cls(
            drained=told["drained"] in YES or bool(unread),
            paused=paused,
            ceiling=int(told["ceiling"]) if told["ceiling"] and readable["ceiling"] else None,
            trouble=". ".join(unread),
        )

    def ceiling_of(self, rules: Rules) -> int:
        """Controls lower the ceiling, never raise it."""
        return rules.knobs.ceiling if self.ceiling is None else min(self.ceiling, rules.knobs.ceiling)

    def stop(self, party: str) -> bool:
        return self.drained or party.casefold() in self.paused


def ticket_body(submission: str, run_id: str, party: str, until: datetime) -> Object:
    notes = {naming.SUBMISSION: submission, naming.RUN: run_id, naming.PARTY: party, naming.UNTIL: micro_time(until)}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": naming.ticket(submission), "labels": {naming.KIND: "ticket"}, "annotations": notes},
        "spec": {},
    }


def gate_body(
    namespace: str, before: Gate, holder: str, run_id: str, now: datetime, rules: Rules, leashed: bool
) -> Object:
    """v1's four spec fields and our annotations; with uid *and* resourceVersion when there is a Lease to replace."""
    notes = {naming.HOLDER: holder, naming.FOR: run_id}
    if leashed:
        notes[naming.FAST_TTL] = FAST
    meta: Object = {"name": naming.gate(namespace), "namespace": namespace, "annotations": notes}
    if before.exists:
        meta |= {"uid": before.uid, "resourceVersion": before.version}
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": rules.knobs.lease_ttl,
        "acquireTime": micro_time(now),
        "renewTime": micro_time(now),
    }
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def _marker(name: str, labels: dict[str, str], notes: dict[str, str], owner: Object | None, **spec: Any) -> Object:
    """A Job that never gets a Pod; with an owner it goes when that goes."""
    meta: Object = {"name": name, "labels": labels, "annotations": notes}
    if owner is not None:
        of = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        meta["ownerReferences"] = [of]
    container = {"name": "never-started", "image": "none", "command": ["true"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {
            "parallelism": 0,
            "ttlSecondsAfterFinished": 0,
            "template": {
                "metadata": {"labels": {naming.ROLE: labels[naming.ROLE]}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
            **spec,
        },
    }


def reservation_body(run_id: str, holder: str, token: int, rules: Rules, leashed: bool, keep: str = "") -> Object:
    """A Job that never gets a Pod, is counted by every door at any age, and goes by itself at its deadline.

    `keep`: why it outlives its hold, so that no repair removes it.
    """
    notes = {naming.FOR: run_id, naming.HOLDER: holder} | ({naming.KEEP: keep} if keep else {})
    if leashed:
        notes[naming.FAST_TTL] = FAST
    labels = {naming.APP: "finalizer", naming.ROLE: "reservation"}
    deadline = max(1, round(rules.times.reservation))
    name = naming.reservation(run_id, token)
    return _marker(name, labels, notes, None, suspend=False, activeDeadlineSeconds=deadline)


def guard_body(run_id: str, work: Object) -> Object:
    """A reservation for work that has no finalizer: no deadline; it goes with `work`, one of the run's Jobs."""
    labels = {naming.APP: "finalizer", naming.ROLE: "guard"}
    return _marker(naming.guard(run_id), labels, {naming.FOR: run_id}, work, suspend=False)


def pin_body(run_id: str, finalizer: Object) -> Object:
    """What an older door takes for a companion, so that it goes on counting a finalizer whose batches have ended."""
    labels = {naming.APP: "submit", naming.ELB_JOB_ID: run_id, naming.ROLE: "pin"}
    return _marker(naming.pin(finalizer["metadata"]["uid"]), labels, {}, finalizer, suspend=True)
