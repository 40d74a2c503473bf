"""A ticket of ours that is missing is made again: once, while the watch has not had its time to show it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from submits.cluster import ApiCluster
from submits.gates import naming
from submits.gates.line import Standing
from submits.gates.objects import Ticket
from submits.models import Submission
from submits.states import Phase, Reason, Status
from submits.tickets import SHOWN, Tickets
from tests.test_models import make

pytestmark = pytest.mark.django_db


def waiting(next_try_at: datetime | None = None) -> Submission:
    until = timezone.now() + timedelta(days=1)
    return make(status=Status.WAITING, phase=Phase.IN_LINE, until=until, next_try_at=next_try_at)


def shown(row: Submission) -> dict[str, Standing]:
    now = timezone.now()
    ticket = Ticket(naming.ticket(row.key), "uid", 1, row.key, row.run_id, "dashboard", now, now + timedelta(days=1))
    return {row.key: Standing(ticket, 1, True, False, Reason.NONE)}


def is_made(cluster: ApiCluster, row: Submission) -> bool:
    """And taken away, as an operator's hand would."""
    names = [lease["metadata"]["name"] for lease in cluster.list("leases", naming.TICKETS).items]
    for name in names:
        cluster.delete("leases", name)
    return naming.ticket(row.key) in names


def test_one_that_was_made_is_not_made_again_before_a_watch_can_show_it(cluster: ApiCluster) -> None:
    row, tickets = waiting(), Tickets(cluster)
    for later, made in [(0.0, True), (SHOWN, False), (SHOWN + 0.1, True)]:
        tickets.keep(row, {}, timezone.now(), 1000.0 + later)
        assert is_made(cluster, row) == made, later
    assert Submission.objects.get(pk=row.pk).ticket_at is not None


def test_one_that_was_shown_and_is_gone_is_made_again_at_once(cluster: ApiCluster) -> None:
    row, tickets = waiting(), Tickets(cluster)
    for standing, made in [({}, True), (shown(row), False), ({}, True)]:
        tickets.keep(row, standing, timezone.now(), 1000.0)
        assert is_made(cluster, row) == made, standing


def test_a_search_that_is_to_be_tried_later_stands_in_no_line(cluster: ApiCluster) -> None:
    row, tickets = waiting(timezone.now() + timedelta(minutes=1)), Tickets(cluster)
    tickets.keep(row, {}, timezone.now(), 1000.0)
    assert not is_made(cluster, row)


def test_what_was_asked_for_is_not_remembered_for_ever(cluster: ApiCluster) -> None:
    row, tickets = waiting(), Tickets(cluster)
    tickets.keep(row, {}, timezone.now(), 1000.0)
    tickets.forget(1000.0 + SHOWN / 2)
    assert list(tickets.made) == [naming.ticket(row.key)]
    tickets.forget(1000.0 + SHOWN)
    assert not tickets.made
