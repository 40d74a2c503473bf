"""When something goes wrong: a page that says what to do, and the one error shape for programs."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from submits.views import errors


def request(path: str) -> HttpRequest:
    made = RequestFactory().get(path)
    made.user = AnonymousUser()
    return made


def told(answer: HttpResponse) -> str:
    return answer.content.decode()


@pytest.mark.parametrize(
    ("handler", "status"),
    [(errors.bad_request, 400), (errors.forbidden, 403), (errors.not_found, 404), (errors.stale_form, 403)],
)
def test_people_get_a_page_and_programs_the_one_shape(handler: object, status: int) -> None:
    assert callable(handler)
    why = "secret" if handler is errors.stale_form else Exception("secret")
    page = handler(request("/searches/x/"), why)
    assert page.status_code == status
    assert page.headers["Cache-Control"] == "no-store, private"
    assert "To the search form" in told(page) and "secret" not in told(page)
    answer = handler(request("/searches/x.json"), why)
    assert answer.status_code == status
    found = json.loads(answer.content)
    assert set(found) == {"error"} and set(found["error"]) == {"code", "message"}
    assert "secret" not in told(answer)


def test_what_is_broken_says_nothing_of_how() -> None:
    assert errors.broken(request("/")).status_code == 500
    assert "Searches that run go on" in told(errors.broken(request("/")))


def test_a_page_that_breaks_while_it_says_so_is_still_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> HttpResponse:
        raise RuntimeError("the template")

    monkeypatch.setattr(errors, "answer", broken)
    assert errors.broken(request("/")).status_code == 500


def test_a_form_that_is_too_long_says_the_limit() -> None:
    page = told(errors.bad_request(request("/"), RequestDataTooBig("x")))
    assert "the box takes 5,000,000 bytes" in page and "a file may have 50,000,000" in page
