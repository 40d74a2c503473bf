"""The gatekeeper of one scope: watches in; decisions, wake-ups and the snapshot out.

Each watch is a thread that only fills a queue; this one loop decides, and alone touches the database, the line and the
snapshot. It needs no message to know of a row: it looks at the rows at every turn, and every two seconds regardless.
When it dies the line stands still until it, or a spare, goes on; two at once would be harmless.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
from collections.abc import Callable
from dataclasses import replace

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.db.models import Q

from submits import board, cancel, live, podlogs, reconcile, rowclock, tasks
from submits.claim import Claim
from submits.cluster import ApiCluster
from submits.cluster.brisk import Brisk, NotAsked
from submits.cluster.clock import SystemClock
from submits.cluster.reflector import Heard, Reflector
from submits.cluster.seen import PULSE, Seen, sources
from submits.ending import fail
from submits.engine.diagnosis import podless
from submits.flow import missed, worker_name
from submits.gates import repair
from submits.gates.admission import road_of
from submits.gates.backends import WORDS
from submits.gates.line import Memory, Sight, Standing, advance, next_look, standings, wait_over
from submits.gates.monitor import Monitor
from submits.gates.objects import Controls, Gate
from submits.gates.ports import ClusterError, Listing
from submits.gates.verdicts import Outcome
from submits.models import Cluster as Scope
from submits.models import Submission
from submits.preparing import still_unoffered
from submits.pulse import Pulse
from submits.scopes import PARTY, backend, rules
from submits.states import LIVE, Reason, Status
from submits.tickets import Tickets
from submits.waiting import Waits, is_due, is_past, tell_unknown
from submits.waking import Waker
from submits.work import brisk

log = logging.getLogger(__name__)
TURN = 0.5  # seconds without news between two looks at the rows
LOOK = 2.0  # seconds: stamp the snapshot, mend, reconcile
SCAN_LOOK = 10.0  # seconds between two looks at a Job that scans databases
SILENT = 11.0  # seconds without an answer after which nothing is known; said within 15: a turn, and a look or a request


class Gatekeeper:
    """`cluster`: what is watched; `brisk`: the way of the loop's own requests, the watches' if none is given.
    `now` is CLOCK_BOOTTIME throughout."""

    def __init__(self, scope: Scope, cluster: ApiCluster, brisk: Brisk | None = None) -> None:
        self.scope, self.rules, self.watched, self.brisk = scope, rules(), cluster, brisk
        self.cluster = ApiCluster(brisk, cluster.namespace) if brisk else cluster
        self.heard: queue.Queue[Heard] = queue.Queue()
        self.seen = Seen(cluster.namespace, self.rules)
        self.memory, self.books = Memory(), repair.Bookkeeping()
        self.clock, self.waker = SystemClock(), Waker()
        self.canceller, self.copier = cancel.Canceller(), podlogs.Copier(scope)
        self.pulse = Pulse(cluster, self.heard)
        self.claim = Claim(scope, worker_name())
        self.stopping = threading.Event()
        self.looked = -LOOK
        self.shown: live.View | None = None
        self.controls = Controls()
        self.anew = True  # stillness is counted from the first look on
        self.monitor = Monitor(self.rules)
        self.booting = True
        self.unread = 0  # the running row whose outcome could not be read
        self.wait = TURN  # seconds until the next look without news
        self.tickets, self.waits = Tickets(self.cluster), Waits()
        self.searched = self.asked = -math.inf  # for databases; whether that has ended

    def stop(self) -> None:
        self.stopping.set()
        self.pulse.stopping.set()

    def run(self) -> None:
        for source in sources(self.cluster.namespace):
            Reflector(source, self.watched, self.heard).start()
        self.pulse.start()
        self.copier.start()
        while not self.stopping.is_set():
            try:
                self.listen()
                close_old_connections()
                if self.is_active():
                    self.turn()
                else:
                    self.rest()
            except (DatabaseError, InterfaceError) as error:
                log.error("the database does not answer: %s", error)
                connection.close()
                self.stopping.wait(1.0)
            except Exception:  # one object or row in a shape nobody foresaw must not stop the line for ever
                log.exception("a turn ended early")
                self.stopping.wait(1.0)
        self.claim.give_up()

    def listen(self) -> None:
        """Take in all that has been heard; wait for news at most one turn, or until the first timer is due."""
        timeout = min(TURN, self.wait)
        while True:
            try:
                heard = self.heard.get(timeout=timeout) if timeout else self.heard.get_nowait()
            except queue.Empty:
                return
            now = self.clock.boot()
            self.seen.hear(heard, now)
            if heard.source == PULSE and isinstance(heard.what, Listing):
                self.monitor.asked(Gate.read(next(iter(heard.what.items), None)).version)
            elif not isinstance(heard.what, ClusterError):
                self.monitor.hear(heard.source, heard.what, self.seen.jobs, self.seen.date(now), now)
            timeout = 0

    def is_active(self) -> bool:
        """Whether this one acts, or is a spare."""
        return self.claim.held(self.clock.boot())

    @brisk()
    def turn(self) -> None:
        """One look, one round of decisions.

        0. At the start, first look up the runs of unfinished attempts.
        1. Wake whoever's turn it is.        2. Tickets: make what is missing, drop what has ended.
        3. Say why each one waits, or that its wait is over.
        4. Follow running searches.          5. Mend, reconcile, hurry preparations (every 2 s).
        6. Publish what is seen.
        Once the cluster, or the work store, leaves a request unanswered, it is sent none until the next turn.
        """
        self.wait = TURN
        now = self.clock.boot()
        if self.brisk:
            self.brisk.round()
        due = now - self.looked >= LOOK
        if not self.seen.synced or self.seen.lagging(now) or self.silent(now):
            self.stand_by()
            if due:
                self.looked = now
                self.each(lambda row: tell_unknown(row, self.seen.silence))
                reconcile.silence(self.scope, self.seen.silence, self.seen.date(now))
                self.publish_unknown()
            return
        sight = self.seen.sight(now)
        if sight.controls != self.controls:
            self.controls, self.anew = sight.controls, True
            if sight.controls.trouble:
                log.error("everything is stopped: %s", sight.controls.trouble)
        self.memory = advance(self.memory, sight, now)
        self.seen.holds = []
        self.wait = next_look(sight, self.memory)
        for breach in self.monitor.look(sight, now):
            log.error("breach=%s: %s", breach.kind, breach.evidence)
        if self.booting:
            reconcile.desert_admissions(self.scope, sight)
            self.booting = False
        standing = {s.ticket.submission: s for s in standings(sight, self.memory)}
        if self.seen.moved or self.anew:
            # The line moves; or nobody could act until now, and that time is not to be held against who waits.
            Submission.objects.filter(scope=self.scope, status__in=LIVE).update(moved_at=sight.date)
            self.seen.moved = self.anew = False
        if self.seen.stirred:
            # Whoever found every place taken need not wait any longer.
            full = {"status": Status.WAITING, "reason": Reason.WAITING_FOR_CAPACITY, "next_try_at__isnull": False}
            Submission.objects.filter(scope=self.scope, **full).update(next_try_at=None)
            self.seen.stirred = False
        waiting = list(Submission.objects.filter(scope=self.scope, status=Status.WAITING).order_by("ticket_at", "pk"))
        self.wake(waiting, standing, now)
        self.each(lambda row: self.tickets.keep(row, standing, sight.date, now), waiting)
        self.each(lambda row: self.explain(row, standing.get(row.key), sight, now), waiting)
        if self.seen.jobs_changed or due:
            self.seen.jobs_changed = False
            held = {**self.copier.known, **podless(sight.jobs, sight.date)}
            self.unread = reconcile.follow(self.scope, sight, self.cluster, held, after=self.unread)
        self.canceller.turn(self.scope, self.cluster, now)
        if due:
            self.looked = now
            self.mend(waiting, sight, standing, now)
        self.publish(sight, list(standing.values()), due)

    def rest(self) -> None:
        """A spare, warm."""
        now = self.clock.boot()
        self.wait = TURN  # what the last turn waited for is another's now
        self.stand_by()
        self.monitor.stand_by(self.seen.date(now), now)
        self.ready()

    def stand_by(self) -> None:
        """Nobody is led through meanwhile: no opening is measured, and stillness is counted anew afterwards."""
        self.memory, self.anew = replace(self.memory, opened=None), True

    def silent(self, now: float) -> bool:
        return self.seen.answered is None or now - self.seen.answered > SILENT

    def each(self, do: Callable[[Submission], None], rows: list[Submission] | None = None) -> None:
        """A bad row cannot stop the loop."""
        if rows is None:
            rows = list(Submission.objects.filter(scope=self.scope, status=Status.WAITING))
        for row in rows:
            try:
                do(row)
            except NotAsked:
                return
            except ClusterError as error:
                log.warning("submission=%s: %s", row.key, error)
                if row.ended:  # its ticket is dropped later
                    continue
                outcome, reason = road_of(error)
                if outcome is Outcome.REFUSED:
                    fail(row, reason, str(error))
                elif reason is Reason.COORDINATION_UNAVAILABLE:
                    missed(row, str(error))
            except (DatabaseError, InterfaceError):
                raise
            except Exception:  # nor can one in a shape nobody foresaw
                log.exception("submission=%s", row.key)

    # 1 --------------------------------------------------------------------------------------------------------------

    def wake(self, waiting: list[Submission], standing: dict[str, Standing], now: float) -> None:
        at = rowclock.now()
        for row in waiting:
            place = standing.get(row.key)
            if place and place.turn and is_due(row, at):
                self.waker.wake(tasks.search, row.pk, now, row.attempt)

    # 3 --------------------------------------------------------------------------------------------------------------

    def explain(self, row: Submission, place: Standing | None, sight: Sight, now: float) -> None:
        if place is None:
            # Its ticket is past its end, so it stands in nobody's line any more.
            if is_past(row, sight.date) and not sight.controls.stop(PARTY):
                fail(row, Reason.CAPACITY_TIMEOUT if sight.full else Reason.SUBMIT_SLOT_TIMEOUT, "")
            return
        if row.ticket_at and row.until:
            over = wait_over(sight, place, row.ticket_at, row.moved_at or row.ticket_at, row.until)
            if over:
                fail(row, over, "")
                self.cluster.delete("leases", place.ticket.name, place.ticket.uid)
                return
        if is_due(row):
            self.waits.settle(row, place.reason, place.detail, now)

    # 5 --------------------------------------------------------------------------------------------------------------

    def mend(self, waiting: list[Submission], sight: Sight, standing: dict[str, Standing], now: float) -> None:
        self.repair(sight, now)
        try:
            self.tickets.drop(standing)
        except ClusterError as error:
            log.warning("tickets: %s", error)
        reconcile.desert_preparations(self.scope)
        reconcile.desert_admissions(self.scope, sight)
        reconcile.find_submitted(waiting, sight)
        self.copier.follow(podlogs.followed(self.scope))
        at = rowclock.now()
        due = Q(next_try_at=None) | Q(next_try_at__lte=at)
        queued = Submission.objects.filter(due, scope=self.scope, status=Status.QUEUED).exclude(still_unoffered(at))
        for pk, attempt in queued.order_by("pk").values_list("pk", "attempt")[:50]:
            self.waker.wake(tasks.prepare, pk, now, attempt)
        self.waits.keep(waiting)
        self.tickets.forget(now)
        self.look_for_databases(now)

    def look_for_databases(self, now: float) -> None:
        """A worker looks. What the broker refuses is sent again when the next look is due."""
        if settings.COORDUI_BLASTDB and now - self.searched >= settings.COORDUI_BLASTDB_SCAN_SECONDS:
            self.searched = self.asked = now
            tasks.send(tasks.look_for_databases)
        elif settings.COORDUI_BLASTDB_SCAN == "cluster" and now - self.asked >= SCAN_LOOK:
            self.asked = now
            tasks.send(tasks.look_at_scan)

    def repair(self, sight: Sight, now: float) -> None:
        for act in repair.plan(sight, self.books, now):
            repair.carry_out(act, self.cluster, self.clock, sight, self.books)

    # 6 --------------------------------------------------------------------------------------------------------------

    def publish(self, sight: Sight, places: list[Standing], due: bool) -> None:
        view = self.view(sight, places)
        if due or view != self.shown:
            live.publish(self.scope, view)
        self.shown = view
        self.ready()

    def view(self, sight: Sight, places: list[Standing]) -> live.View:
        runs = [run for run in sight.places if run.startswith("job-")]
        ours = set(Submission.objects.filter(run_id__in=runs).values_list("run_id", flat=True))
        breaches = self.monitor.shown(sight.date)
        held = self.copier.held_up | podless(sight.jobs, sight.date)
        view = board.view_of(sight, places, ours, PARTY, sight.date, breaches, self.monitor.counts, held)
        view["health"] = self.health(trouble=sight.controls.trouble)
        return view

    def health(self, silence: str = "", trouble: str = "") -> live.Health:
        """`trouble`: of the controls."""
        chosen = backend()
        note = f"Every search is stopped until an operator mends this. {trouble}." if trouble else WORDS[chosen.backend]
        return live.Health(
            backend=str(chosen), note=note, power=self.pulse.power, silence=silence or None,
            largest_node=self.pulse.largest,
        )  # fmt: skip

    def publish_unknown(self) -> None:
        self.shown = live.empty_view(self.rules.knobs.ceiling)
        self.shown["health"] = self.health(self.seen.silence or "nothing was heard")
        live.publish(self.scope, self.shown)

    def ready(self) -> None:
        if settings.COORDUI_READY_FILE and not settings.COORDUI_READY_FILE.exists():
            settings.COORDUI_READY_FILE.touch()
