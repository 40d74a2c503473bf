"""Watches one run at every revision and every word, and keeps the first thing that was not so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coordui.onebox.cluster.storage.store import Event
from submits.gates.line import Standing
from submits.gates.ports import Object
from tests.gates.simulation import invariants
from tests.gates.simulation.clockwork import Process
from tests.gates.simulation.invariants import GATE, Moment, holder, label
from tests.gates.simulation.parties import Row, Tried
from tests.gates.simulation.schedule import Deed, What
from tests.gates.simulation.submitting import Begun
from tests.gates.v1 import has_ended

if TYPE_CHECKING:
    from tests.gates.simulation.world import World


class Judge:
    def __init__(self, world: World, excused: frozenset[str]) -> None:
        self.world = world
        self.schedule = world.schedule
        self.excused = excused
        self.violation = ""
        self.revisions = 0
        self.jobs: dict[str, Object] = {}
        self.leases: dict[str, Object] = {}
        self.identities: dict[str, Process] = {}
        self.holders: dict[int, str] = {}  # revision of a write of the gate → its holder
        self.changes: list[tuple[float, str]] = [(0.0, "")]  # when the gate's holder changed, and to whom
        self.renewed = 0.0
        self.free_since: float | None = None
        # The first in line acts within a second; beside an older door, it may have given way to it before.
        self.allowed = 1.0 + (world.rules.knobs.v1_yield if self.schedule.older else 0.0)
        self.had_finalizer: set[str] = set()
        self.ended: set[str] = set()  # runs whose finalizer has ended, or was taken away by an operator
        world.network.server.core.store.listeners.append(self.heard)
        world.submits.started.append(self.started)

    @property
    def gate_is_deleted(self) -> bool:
        """An operator who deletes the Lease lets two submits overlap until the next heartbeat."""
        return self.schedule.does(Deed.DELETE_GATE) or self.schedule.has(What.GATE_GONE)

    def found(self, *violations: str) -> None:
        for violation in violations:
            if violation and not self.violation and violation.partition(":")[0] not in self.excused:
                self.violation = f"{violation} (at {self.world.clockwork.now:.2f} s)"

    # Every revision --------------------------------------------------------------------------------------------------

    def heard(self, event: Event) -> None:
        kind = event.resource.plural
        if kind not in ("jobs", "leases"):
            return
        self.revisions += 1
        objects = self.jobs if kind == "jobs" else self.leases
        before, now = objects.get(event.name), None if event.type == "DELETED" else event.object
        if now is None:
            objects.pop(event.name, None)
        else:
            objects[event.name] = now
        network, at = self.world.network, self.world.clockwork.now
        moment = Moment(
            event.revision, at, self.world.clockwork.date(), kind, event.type, event.name, now, before,
            network.writer, network.method, self.jobs, self.leases,
        )  # fmt: skip
        if moment.of_gate:
            self.note_gate(moment)
            if self.schedule.quiet and holder(now) and self.free_since is not None:
                self.found(invariants.in_time(holder(now), at - self.free_since, self.allowed))
        if kind == "jobs":
            self.note_finalizer(now or before, gone=now is None, by_operator=self.by_operator(moment))
        self.note_free(at)
        if self.schedule.quiet and moment.of_gate:
            self.found(invariants.ticket_first(moment, self.had_finalizer, self.waiting()))
            self.found(invariants.older_misses(moment))
        self.found(
            invariants.ceiling(moment, self.schedule),
            invariants.marker(moment, self.writing()),
            invariants.release(moment, self.identities, at - self.renewed),
            invariants.older_count(moment),
        )
        if moment.of_gate and now is not None and self.renews(before, now):
            self.renewed = int(at)

    def note_gate(self, moment: Moment) -> None:
        now = holder(moment.now)
        self.holders[moment.revision] = now
        if moment.writer is not None and now and now not in self.identities:
            self.identities[now] = moment.writer
        if now != self.changes[-1][1]:
            self.changes.append((moment.at, now))

    @staticmethod
    def by_operator(moment: Moment) -> bool:
        return moment.writer is not None and moment.writer.role == "operator"

    def note_finalizer(self, job: Object | None, *, gone: bool, by_operator: bool) -> None:
        if job is None or label(job, "app") != "finalizer" or invariants.role(job):
            return
        run = label(job, "elb-job-id")
        self.had_finalizer.add(run)
        if has_ended(job) or (gone and by_operator):
            self.ended.add(run)

    @staticmethod
    def renews(before: Object | None, now: Object) -> bool:
        def said(lease: Object | None) -> object:
            return ((lease or {}).get("spec") or {}).get("renewTime")

        return said(before) != said(now)

    def note_free(self, at: float) -> None:
        """Since when the gate, a slot and a ticket have been there together."""
        taken = len(invariants.marked(self.jobs.values()))
        free = not holder(self.leases.get(GATE)) and taken < self.schedule.ceiling and bool(self.waiting())
        self.free_since = None if not free else at if self.free_since is None else self.free_since

    def waiting(self) -> dict[str, int]:
        tickets = [lease for name, lease in self.leases.items() if name.startswith("elb-ticket")]
        return {invariants.note(t, "coordui/run"): int(t["metadata"]["resourceVersion"]) for t in tickets}

    def writing(self) -> set[str]:
        """Runs of ours whose submit runs, or has sent what is still on the way."""
        submits = self.world.submits.begun
        on_the_way = {process for process, request in self.world.network.in_flight if request.method == "POST"}
        return {
            begun.run
            for begun in submits
            if begun.process.role == "submit" and (begun.runs or begun.process in on_the_way)
        } - self.ended

    def look(self, places: list[Standing]) -> None:
        self.found(invariants.reasons(places))

    # Every submit's start --------------------------------------------------------------------------------------------

    def started(self, begun: Begun) -> None:
        others: Sequence[Begun] = self.world.submits.begun
        deleted = self.gate_is_deleted
        self.found("" if deleted else invariants.alone(begun, others))
        if begun.process.role != "submit":
            return
        present = {label(j, "elb-job-id") for j in self.jobs.values() if label(j, "app") == "finalizer"}
        if not self.schedule.does(Deed.DELETE_FINALIZER):
            self.found(invariants.once(begun, others[:-1], present))
        if self.schedule.quiet:
            self.found(invariants.in_order(begun, self.waiting()))

    # Every word ------------------------------------------------------------------------------------------------------

    def token(self, row: Row, claim: int, token: int, said: str) -> None:
        earlier = [known for by, known in row.tokens if by < claim]
        self.found(invariants.tokens(earlier, token, self.holders, said))
        row.tokens.append((claim, token))

    def verdict(self, tried: Tried) -> None:
        verdict, begun = tried.verdict, tried.begun
        assert verdict is not None
        held = [who for at, who in self.changes if at >= begun] + [self.holder_at(begun)]
        others = [who for who in held if who and who != verdict.holder]
        deleted = self.gate_is_deleted
        self.found(
            invariants.told_apart(
                verdict.outcome,
                verdict.reason,
                faults=self.disturbed_since(tried),
                contested=bool(others) or deleted,
                started=any(b.holder is tried.process for b in self.world.submits.begun) or verdict.exit_code == -1,
                found=tried.row.run_id in self.had_finalizer,
            )
        )

    def holder_at(self, when: float) -> str:
        return [who for at, who in self.changes if at <= when][-1]

    def disturbed_since(self, tried: Tried) -> bool:
        """Whether anything befell this try's requests, or the server."""
        process = tried.process
        struck = any((b.role, b.number) == (process.role, process.number) for b, _ in self.world.network.struck)
        return struck or self.world.network.epoch > 0

    # The end ---------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        for actor in self.world.clockwork.actors:
            if actor.failure is not None:
                self.found(f"I11: {actor.process.name} ended with {actor.failure!r}")
        late = [row.submission for row in self.world.rows if not row.over]
        self.found(f"I8: {late} never came to an end" if late else "")
        if not late and not [job for job in self.jobs.values() if not invariants.role(job) and not has_ended(job)]:
            self.found(self.left())

    def left(self) -> str:
        return invariants.nothing_left(self.jobs.values(), self.leases, self.world.clockwork.now - self.renewed)
