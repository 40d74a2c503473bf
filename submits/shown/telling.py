"""What a search says about itself: what is happening, since when, what happens next, what one can do. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from submits import live
from submits.models import Submission
from submits.shown.scene import WAYS
from submits.shown.words import count, duration, moment, ordinal, seconds_between
from submits.states import REASONS, Kind, Phase, Reason, Status


@dataclass(frozen=True)
class Told:
    mood: str  # go, wait, retry, fail, done, off: with a colour and, always, a word
    word: str  # the state in one word
    sentence: str
    next_step: str = ""
    since: datetime | None = None
    tab: str = ""


GOING: dict[str, tuple[str, str]] = {
    Phase.GATE_TAKEN: ("Door A is yours.", "A place behind door B is reserved next."),
    Phase.PLACE_ANNOUNCED: ("A place is reserved.", "The running searches are counted next."),
    Phase.PLACES_COUNTED: ("There is a place for it.", "It is handed to the cluster next."),
    Phase.SUBMIT_RUNNING: ("It is being handed to the cluster.", "It runs as soon as the cluster has it."),
    Phase.VERIFYING: ("It was handed over; the cluster is asked whether it has it.", "It runs next."),
    Phase.STARTING: ("The cluster sets it up; its first batch is starting.", "Hits follow when all batches are done."),
    Phase.MERGING: ("All batches are done; the results are being put together.", "Hits follow in a moment."),
}


AT_THE_DOOR = ("Its turn has come.", "It takes door A next.")


def wait_sentence(reason: Reason, view: live.View, now: datetime) -> str:
    """The sentence of a wait, with what is known about it at this moment."""
    if reason == Reason.WAITING_FOR_CAPACITY and view["ceiling"]:
        return f"{view['active']} of {count(view['ceiling'], 'place')} for running searches are taken."
    holder = view["lease"]
    if reason == Reason.WAITING_FOR_SUBMIT_SLOT and holder["holder"]:
        since = moment(holder["since"])
        way = WAYS.get(holder["source"], "")
        facts = [f"{duration(seconds_between(since, now))} so far"] if since else []
        facts += [way] if way else []
        return "Another search is being submitted" + (f" ({', '.join(facts)})." if facts else ".")
    return REASONS[reason].sentence if reason in REASONS else "It stands in line."


def place(position: int | None) -> str:
    if position is None:
        return ""
    return "You are next." if position == 1 else f"You are {ordinal(position)} in line."


def waiting(submission: Submission, view: live.View, position: int | None, now: datetime, usual: str) -> Told:
    reason = Reason(submission.reason) if submission.reason else Reason.WAITING_IN_LINE
    explained = REASONS[reason]
    if reason == Reason.WAITING_IN_LINE and position == 1:
        # The detail: it gives way to somebody, for a few seconds.
        parts = [
            f"It {submission.detail}." if submission.detail else "Nothing stands before it: it goes in at any moment."
        ]
    else:
        parts = [wait_sentence(reason, view, now), place(position), usual if position else ""]
    parts.append(next_try(submission, reason, now))
    mood = "retry" if explained.kind == Kind.RETRY else "wait"
    tab = ordinal(position) if position else "waiting"
    return Told(mood, "waiting", " ".join(filter(None, parts)), explained.next_step, submission.ticket_at, tab)


def next_try(submission: Submission, reason: Reason, now: datetime) -> str:
    """When it is tried again: the very time at which the row is due. A gate is waited for without one."""
    timed = REASONS[reason].kind == Kind.RETRY or reason == Reason.QUOTA_FULL
    if not timed or submission.next_try_at is None or submission.next_try_at <= now:
        return ""
    return f"Tried again in {duration(seconds_between(now, submission.next_try_at))}."


def cancelling(submission: Submission, now: datetime) -> Told:
    reason = Reason(submission.reason) if submission.reason else Reason.CANCEL_ASKED
    explained = REASONS[reason]
    sentence = " ".join(filter(None, (explained.sentence, next_try(submission, reason, now))))
    mood = "retry" if explained.kind == Kind.RETRY else "wait"
    return Told(mood, "cancelling", sentence, explained.next_step, submission.cancel_at, "cancelling")


def running(submission: Submission) -> Told:
    if submission.phase in GOING and not (submission.phase == Phase.STARTING and submission.batches_done):
        sentence, following = GOING[submission.phase]
    else:
        total = count(submission.batches, "batch", "batches")
        sentence = f"{submission.batches_done} of {total} done." if submission.batches else "It is searching."
        following = "Hits follow when all batches are done and put together."
    mood = "go"
    if submission.explained:
        # It is held up by something in the cluster; its words are the detail.
        mood = "retry" if submission.explained.kind == Kind.RETRY else "wait"
        known = sentence if submission.batches_done else ""
        sentence = " ".join(filter(None, (known, submission.explained.sentence)))
        following = submission.explained.next_step
    merging = submission.phase == Phase.MERGING
    tab = "merging" if merging else f"running {submission.batches_done}/{submission.batches or '?'}"
    return Told(mood, "running", sentence, following, submission.submitted_at, tab)


def completed(submission: Submission) -> Told:
    hits, queries = submission.hits or 0, submission.queries
    with_hits = submission.queries_with_hits or 0
    sentence = f"{with_hits} of {count(queries, 'query', 'queries')} had hits: {count(hits, 'hit')} in all."
    if not hits:
        sentence = "Nothing was found." if queries == 1 else f"None of the {queries:,} queries had a hit."
    following = "" if hits else "A larger e-value, another database or a more sensitive task may find more."
    return Told("done", "done", sentence, following, submission.finished_at, f"✓ {count(hits, 'hit')}")


def over(submission: Submission, mood: str, word: str, tab: str) -> Told:
    explained = submission.explained
    sentence = explained.sentence if explained else f"It was {word}." if mood == "off" else "It failed."
    following = explained.next_step if explained else ""
    return Told(mood, word, sentence, following, submission.finished_at, tab)


def tell(
    submission: Submission,
    view: live.View,
    position: int | None,
    now: datetime,
    usual: str = "",
    began: datetime | None = None,
) -> Told:
    """`usual` is the range of waiting times, or "" while too few searches have ended to know one.

    `began` is when its present admission began; without it the row's latest change stands in.
    """
    match Status(submission.status):
        case Status.QUEUED if submission.reason in (Reason.WORK_STORE_UNAVAILABLE, Reason.DATABASE_AWAY):
            told = REASONS[reason := Reason(submission.reason)]
            again = next_try(submission, reason, now)
            sentence = " ".join(filter(None, (told.sentence, again)))
            return Told("retry", "received", sentence, told.next_step, submission.created_at, "received")
        case Status.QUEUED:
            following = "It is checked and split next."
            return Told("go", "received", "It was received.", following, submission.created_at, "received")
        case Status.PREPARING:
            following = "Then it takes its place in line."
            sentence = "It is being checked and split."
            return Told("go", "preparing", sentence, following, submission.updated_at, "preparing")
        case Status.WAITING:
            return waiting(submission, view, position, now, usual)
        case Status.SUBMITTING:
            sentence, following = GOING.get(submission.phase, AT_THE_DOOR)
            since = began or submission.updated_at
            return Told("go", "being submitted", sentence, following, since, "submitting")
        case Status.RUNNING:
            return running(submission)
        case Status.COMPLETED:
            return completed(submission)
        case Status.CANCELLING:
            return cancelling(submission, now)
        case Status.FAILED:
            return over(submission, "fail", "failed", "✗ failed")
        case Status.CANCELLED:
            return over(submission, "off", "cancelled", "cancelled")


def step(status: str, phase: str, reason: str) -> str:
    """One line of the timeline. A reason explains a wait or an end; while it is being submitted the phase is told."""
    if status == Status.SUBMITTING:
        return GOING.get(phase, AT_THE_DOOR)[0]
    if reason in REASONS and reason != Reason.WAITING_IN_LINE:
        return REASONS[Reason(reason)].sentence
    if phase in GOING:
        return GOING[phase][0]
    words = {
        Phase.RECEIVED: "Received.",
        Phase.PREPARING: "Being checked and split.",
        Phase.IN_LINE: "Took its place in line.",
        Phase.SEARCHING: "Searching.",
        Phase.STOPPING: "It is being cancelled.",
        Phase.CLEARING: "What it has in the cluster is being taken away.",
        Phase.READY: "The results are ready.",
        Phase.ENDED: "Ended.",
    }
    return words.get(Phase(phase), status) if phase in set(Phase) else status
