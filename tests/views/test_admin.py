"""The admin: for operators, to be looked at."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from submits.live import Stuck
from submits.models import Database
from tests.views import factory
from tests.views.conftest import People

LISTS = ["submission", "event", "database", "cluster", "snapshot"]


@pytest.fixture
def ann(people: People) -> Client:
    return people.client(people.ann)


@pytest.mark.parametrize("model", LISTS)
def test_operators_see_every_list_and_others_none(people: People, ann: Client, bob: Client, model: str) -> None:
    factory.running(people.bob)
    address = reverse(f"admin:submits_{model}_changelist")
    if model != "database":
        assert ann.get(address).status_code == 200
    assert bob.get(address).status_code == 302


def test_a_submission_is_read_with_its_story_and_not_changed(people: People, ann: Client) -> None:
    row = factory.running(people.bob, title="Read me <b>")
    address = reverse("admin:submits_submission_change", args=[row.pk])
    page = ann.get(address).content.decode()
    assert "Read me &lt;b&gt;" in page and 'name="_save"' not in page
    assert ann.post(address, {"status": "completed"}).status_code == 403
    assert ann.post(reverse("admin:submits_submission_delete", args=[row.pk])).status_code == 403
    assert ann.get(reverse("admin:submits_submission_add")).status_code == 403


def test_a_database_that_is_away_is_taken_out_for_good_by_an_administrator(people: People, ann: Client) -> None:
    away = factory.running(people.bob).database
    Database.objects.update(ready=False, trouble="it is not there.", trouble_since=timezone.now())
    address = reverse("admin:submits_database_changelist")
    chosen = {"action": "take_out", "_selected_action": [away.pk]}
    for may, trouble in [("view_database", "it is not there."), ("change_database", "")]:
        people.ann.user_permissions.add(Permission.objects.get(codename=may))
        page = ann.post(address, chosen, follow=True).content.decode()
        away.refresh_from_db()
        assert (away.trouble, "1 taken out of offer." in page) == (trouble, not trouble)
    assert (away.ready, away.trouble_since) == (False, None)


def test_stuck_finalizers_are_shown_with_age_and_evidence(ann: Client) -> None:
    stuck = Stuck(
        name="elb-finalizer-abcd1234", run_id="job-1", since=factory.iso(4000), last_change=factory.iso(600),
        evidence="no active Pod, no living Job of its search",
    )  # fmt: skip
    factory.publish(stuck=[stuck])
    page = ann.get(reverse("admin:submits_snapshot_changelist")).content.decode()
    assert "elb-finalizer-abcd1234" in page and "1:06:4" in page and "10:0" in page
    assert "no active Pod, no living Job of its search" in page
    assert "elb-finalizer-abcd1234" in ann.get(reverse("gate")).content.decode()
