"""The record: scopes, databases, submissions and what happened to them. The cluster is the truth, this is the record.

`Submission.objects.claim()` and `Submission.objects.move()` are the only writers of a submission's status.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import models, transaction
from django.db.models import F
from django.dispatch import Signal
from django.utils import timezone

from submits import rowclock
from submits.states import ENDED, REASONS, TRANSITIONS, Explained, Phase, Reason, Status, SubmitsError, may

recorded = Signal()  # once an Event is in the database for good; with `submission`
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # 32 letters, none easily taken for another


def new_key() -> str:
    """A submission's name everywhere: 80 random bits, so that nobody finds another's by counting."""
    return "".join(secrets.choice(LETTERS) for _ in range(16))


class IllegalMove(SubmitsError):
    """The transition table does not allow this step, or it carries an older fencing token."""


class Cluster(models.Model):
    """A scope: one namespace of one cluster. Each has its own line, gates and places."""

    name = models.CharField(max_length=63, default="local")
    namespace = models.CharField(max_length=63, default="default")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["name", "namespace"], name="one_row_a_scope")]

    def __str__(self) -> str:
        return f"{self.name}/{self.namespace}"


class Database(models.Model):
    """A formatted BLAST database, registered by key; no form ever carries its path."""

    class Molecule(models.TextChoices):
        NUCL = "nucl", "nucleotide"
        PROT = "prot", "protein"
        RPS = "rps", "profiles"

    scope = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="databases")
    key = models.SlugField(max_length=63)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    path = models.CharField(max_length=500, help_text="as the Pods see it, without BLAST's file endings")
    molecule = models.CharField(max_length=4, choices=Molecule.choices)
    sequences = models.PositiveBigIntegerField(default=0)
    letters = models.PositiveBigIntegerField(default=0)
    formatted = models.CharField(max_length=40, blank=True, help_text="the date BLAST gives")
    taxonomy = models.BooleanField(null=True, help_text="whether it knows the species of its sequences")
    trouble = models.CharField(max_length=300, blank=True, default="", help_text="why it is not offered any more")
    trouble_since = models.DateTimeField(null=True, help_text="when that was found")
    ready = models.BooleanField(default=True)

    class Meta:
        ordering: ClassVar = ["title"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["scope", "key"], name="one_database_a_key")]

    def __str__(self) -> str:
        return self.title


class Submissions(models.QuerySet["Submission"]):
    def visible_to(self, user: Any) -> Submissions:
        """Private by default: one's own; operators see all."""
        return self if user.is_staff else self.filter(owner=user)

    def live(self) -> Submissions:
        return self.exclude(status__in=ENDED)

    def claim(self, pk: int, *, expected: Status, status: Status, phase: Phase, worker: str) -> Submission | None:
        """Take a submission for one piece of work: one UPDATE that only one caller wins; the others get None.

        It counts as an attempt, so that what a slower claimant still holds no longer matches. A row that is to be tried
        later cannot be claimed before: a message that lay around for a while changes nothing.
        """
        if status not in TRANSITIONS[expected]:
            raise IllegalMove(f"{expected} -> {status}")
        now = rowclock.now()
        with transaction.atomic():
            due = models.Q(next_try_at=None) | models.Q(next_try_at__lte=now)
            won = self.filter(due, pk=pk, status=expected).update(
                status=status,
                phase=phase,
                reason="",
                detail="",
                attempt=F("attempt") + 1,
                version=F("version") + 1,
                worker=worker,
                beat_at=now,
                updated_at=now,
            )
            if not won:
                return None
            submission = self.select_related("scope", "database", "owner").get(pk=pk)
            Event.record(submission, now)
        return submission

    def claimed(self, submission: Submission) -> Submissions:
        """The row, if what `submission` says of its claim is still so."""
        return self.filter(pk=submission.pk, attempt=submission.attempt, status=submission.status)

    def beat(self, submission: Submission) -> bool:
        """Say that the claimant lives; False when the claim is definitely no longer its own."""
        return bool(self.claimed(submission).update(beat_at=rowclock.now()))

    def let_go(self, submission: Submission) -> None:
        """The claimant has stopped for good: nothing that it started runs any more. A cancel waits for that."""
        self.filter(pk=submission.pk, attempt=submission.attempt, status=Status.CANCELLING).update(worker="")

    def move(
        self,
        submission: Submission,
        status: Status,
        *,
        phase: Phase,
        reason: Reason = Reason.NONE,
        detail: str = "",
        **facts: Any,
    ) -> bool:
        """Compare-and-set on the row's version, with its Event, in one transaction. False: somebody else moved it.

        Raises IllegalMove for a step the table does not have and for a fencing token below the row's: tokens only grow,
        unless the cluster has been restored.
        On success `submission` carries the new values.
        """
        old = Status(submission.status)
        if not may(old, status):
            raise IllegalMove(f"{submission.key}: {old} -> {status}")
        if facts.get("token", submission.token) < submission.token and reason is not Reason.CLUSTER_RESTORED:
            raise IllegalMove(f"{submission.key}: token {facts['token']} is older than {submission.token}")
        now = rowclock.now()
        values = {"status": status, "phase": phase, "reason": reason, "detail": detail[:4000], **facts}
        same = all(getattr(submission, name) == value for name, value in values.items())
        if same:
            return self.filter(pk=submission.pk, version=submission.version).exists()
        if status in ENDED:
            values["finished_at"] = now
        values |= {"version": submission.version + 1, "updated_at": now}
        with transaction.atomic():
            if not self.filter(pk=submission.pk, version=submission.version).update(**values):
                return False
            told = (submission.status, submission.phase, submission.reason)
            for name, value in values.items():
                setattr(submission, name, value)
            if told != (submission.status, submission.phase, submission.reason):
                Event.record(submission, now)
        return True


class Submission(models.Model):
    """One search, from the press of the button to its last result."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="submissions")
    scope = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="submissions")
    form_key = models.CharField(max_length=64, blank=True, help_text="the form's own key: pressed twice, one search")
    form_digest = models.CharField(max_length=32, blank=True, help_text="of what the form held when it was received")
    run_id = models.CharField(max_length=40, unique=True, help_text="the elb-job-id")

    title = models.CharField(max_length=200)
    program = models.CharField(max_length=12)
    database = models.ForeignKey(Database, on_delete=models.PROTECT, related_name="submissions")
    options = models.JSONField(default=dict)
    queries = models.PositiveIntegerField(default=0)
    letters = models.PositiveBigIntegerField(default=0)

    status = models.CharField(max_length=12, choices=[(s.value, s.value) for s in Status], default=Status.QUEUED)
    phase = models.CharField(max_length=20, choices=[(p.value, p.value) for p in Phase], default=Phase.RECEIVED)
    reason = models.CharField(max_length=30, blank=True)
    detail = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0, help_text="submits that ended without a search; three at most")
    outages = models.PositiveSmallIntegerField(
        default=0, help_text="tries in a row for which the cluster or the work store did not answer or was not ready"
    )
    token = models.PositiveBigIntegerField(default=0, help_text="resourceVersion of the gate when it was taken")
    worker = models.CharField(max_length=120, blank=True)
    beat_at = models.DateTimeField(null=True)

    holder = models.CharField(max_length=80, blank=True, help_text="its own holderIdentity in its last admission")
    ticket_at = models.DateTimeField(null=True, help_text="when it took its place in line, by the apiserver's clock")
    until = models.DateTimeField(null=True, help_text="when waiting ends whatever happens")
    moved_at = models.DateTimeField(null=True, help_text="when the line last moved while it waited")
    next_try_at = models.DateTimeField(null=True)
    cancel_by = models.CharField(max_length=150, blank=True, help_text="who wants it gone")
    cancel_why = models.CharField(max_length=200, blank=True, help_text="an operator's reason")
    cancel_at = models.DateTimeField(null=True)

    batches = models.PositiveIntegerField(default=0)
    batches_done = models.PositiveIntegerField(default=0)
    queries_with_hits = models.PositiveIntegerField(null=True)
    hits = models.PositiveIntegerField(null=True)

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    submitted_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = Submissions.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]
        indexes: ClassVar = [
            models.Index(fields=["scope", "status"]),
            models.Index(fields=["owner", "-created_at"]),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["owner", "form_key"], condition=~models.Q(form_key=""), name="one_search_a_form"
            )
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.key})"

    @property
    def explained(self) -> Explained | None:
        return REASONS.get(Reason(self.reason)) if self.reason else None

    @property
    def ended(self) -> bool:
        return Status(self.status) in ENDED

    def wait_elapsed(self, now: datetime) -> int | None:
        """Whole seconds since its ticket was made, while it waits."""
        if self.status not in (Status.WAITING, Status.SUBMITTING) or self.ticket_at is None:
            return None
        return max(0, int((now - self.ticket_at) / timedelta(seconds=1)))

    def wait_ends(self, knob: float) -> datetime | None:
        """When its wait is over if the line does not move, for a gate whose longest wait is `knob` seconds."""
        if self.status not in (Status.WAITING, Status.SUBMITTING) or self.ticket_at is None:
            return None
        still = max(self.ticket_at, self.moved_at or self.ticket_at) + timedelta(seconds=knob)
        return min(still, self.until) if self.until else still


class Event(models.Model):
    """One step of a submission's story, written with the step itself."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    version = models.PositiveIntegerField()
    status = models.CharField(max_length=12)
    phase = models.CharField(max_length=20)
    reason = models.CharField(max_length=30, blank=True)
    detail = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]  # clocks may be set back

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S} {self.status} {self.phase} {self.reason}".rstrip()

    @classmethod
    def record(cls, submission: Submission, now: datetime) -> None:
        fields = {name: getattr(submission, name) for name in ("version", "status", "phase", "reason", "detail")}
        cls.objects.create(submission=submission, at=now, **fields)
        # Whatever listens must neither undo what has been recorded nor speak of what has not.
        transaction.on_commit(lambda: recorded.send_robust(cls, submission=submission), robust=True)


class Snapshot(models.Model):
    """What the gatekeeper of a scope last saw and said (the shape: `live.View`). One row a scope, one writer."""

    scope = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="snapshot")
    version = models.PositiveBigIntegerField(default=0)
    stamped_at = models.DateTimeField(null=True)
    data = models.JSONField(default=dict)

    class Meta:
        # What its admin page shows of it.
        verbose_name = verbose_name_plural = "stuck finalizers"


class Watch(models.Model):
    """The claim that makes one gatekeeper of a scope the active one; a spare takes it when it is no longer renewed."""

    scope = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="watch")
    holder = models.CharField(max_length=120, blank=True)
    renewed_at = models.DateTimeField(null=True)
