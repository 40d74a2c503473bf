"""The demo, as somebody at a shell asks for it."""

from __future__ import annotations

import io
import logging

import pytest
from django.core.management import call_command
from pytest_django import DjangoCaptureOnCommitCallbacks

from submits import demo
from submits.models import Submission
from tests.views import factory
from tests.views.conftest import People


def test_the_demo_says_what_it_has_thrown_in_and_nothing_else(
    people: People, caplog: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    for database in demo.databases():
        factory.database(database.key)
    caplog.set_level(logging.INFO, "submits")

    def said(verbosity: str) -> str:
        told = io.StringIO()
        caplog.clear()
        with django_capture_on_commit_callbacks(execute=True):
            call_command("demo", "--verbosity", verbosity, stdout=told)
        return told.getvalue()

    assert said("1") == "".join(f"{row.key}  {row.title}\n" for row in Submission.objects.order_by("pk"))
    assert Submission.objects.count() == len(demo.SEARCHES) and caplog.records == []
    caplog.set_level(logging.INFO, "submits")
    assert said("2") and len(caplog.records) == len(demo.SEARCHES), "the log's lines, for whoever wants them"
