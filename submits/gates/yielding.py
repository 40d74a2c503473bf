"""S2, the polite yield: an older door polls every few seconds, so a line that acts at once would starve it. Pure.

A ticket leaves gate and place alone, when an older search of an API service that has no tickets is trying to get in,
until 8 s after both were first free with it first, or until such a door has had the gate since. Breaks do not restart
the 8 s, and it is done once per admission. A job that has been offered an open gate for 8 s in all and did not come
is stale: it costs nothing any more. The limit: a door that polls more slowly than that is passed by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from submits.gates.objects import Demand, Ticket
from submits.gates.ports import Rules


@dataclass(frozen=True)
class Yields:
    """What a line remembers of its yields; times are seconds on its own monotonic clock, keys are uids."""

    since: Mapping[str, float] = field(default_factory=dict)  # when a ticket could first have acted
    over: frozenset[str] = frozenset()  # tickets that need not yield any more
    offered: Mapping[str, float] = field(default_factory=dict)  # for how long in all a job has been yielded to
    offering: frozenset[str] = frozenset()  # the jobs that are yielded to since the last look
    looked: float = 0.0


def older(demand: Iterable[Demand], ticket: Ticket, date: datetime, rules: Rules) -> list[Demand]:
    """Jobs that were there before the ticket, both by the API server's clock, and are not silent by its `Date`."""
    return [
        job
        for job in demand
        if ticket.created and job.created and job.created < ticket.created
        if job.changed and (date - job.changed).total_seconds() <= rules.times.v1_silent
    ]


def courted(yields: Yields, demand: Iterable[Demand], ticket: Ticket, date: datetime, rules: Rules) -> list[Demand]:
    """The jobs that this ticket has to give way to now; none when its yield is over."""
    if ticket.uid in yields.over:
        return []
    longest = rules.knobs.v1_yield
    return [job for job in older(demand, ticket, date, rules) if yields.offered.get(job.uid, 0.0) < longest]


def advance(
    yields: Yields,
    demand: tuple[Demand, ...],
    here: frozenset[str],
    able: Iterable[Ticket],
    v1_held: bool,
    date: datetime,
    rules: Rules,
    now: float,
) -> Yields:
    """One more look at `now`. `here`: all tickets; `able`: those that could act but for a yield; `v1_held`: whether an
    older door has had the gate since the last look."""
    trying = {job.uid for job in demand}
    passed = now - yields.looked
    offered = {
        uid: yields.offered.get(uid, 0.0) + (passed if uid in yields.offering else 0.0)
        for uid in trying
        if uid in yields.offered or uid in yields.offering
    }
    since = {uid: at for uid, at in yields.since.items() if uid in here}
    over = yields.over & here
    if v1_held:
        over |= since.keys()
    able = list(able)
    for ticket in able:
        since.setdefault(ticket.uid, now)
    over |= {uid for uid, at in since.items() if now - at >= rules.knobs.v1_yield}
    yields = replace(yields, since=since, over=over, offered=offered, looked=now)
    offering = {job.uid for ticket in able for job in courted(yields, demand, ticket, date, rules)}
    return replace(yields, offering=frozenset(offering))
