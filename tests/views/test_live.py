"""The live pieces: a page gets what it does not have, once a mark, and only while it may see it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.contrib.sessions.backends.db import SessionStore
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from submits import consumers
from submits.models import Snapshot, Submission
from submits.shown import pages, pieces
from submits.shown.pages import NotYours
from submits.shown.pieces import Context
from submits.states import Phase, Reason, Status
from tests.views import factory
from tests.views.conftest import People


def marks(html: str) -> dict[str, str]:
    return dict(re.findall(r'id="(\w+)"[^>]*? data-mark="(\w+)"', html))


def seen(found: dict[str, str]) -> str:
    return ",".join(f"{name}:{mark}" for name, mark in found.items())


def poll(client: Client, path: str, have: dict[str, str]) -> tuple[int, dict[str, str]]:
    answer = client.get(path, {"seen": seen(have)})
    html = answer.content.decode()
    found = marks(html)
    assert html.count('hx-swap-oob="true"') == len(found)
    return answer.status_code, found


def test_a_page_that_has_everything_is_sent_nothing(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob)
    factory.publish(line=[factory.place(row, 1)])
    page, wire = reverse("search", args=[row.key]), reverse("live_key", args=["search", row.key])
    have = marks(bob.get(page).content.decode())
    assert set(have) == {"pulse", "state", "acts", "results", "facts", "story"}
    assert poll(bob, wire, have) == (204, {})


def test_only_what_changed_is_sent(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob)
    other = factory.waiting(people.eve)
    factory.publish(line=[factory.place(other, 1), factory.place(row, 2)])
    wire = reverse("live_key", args=["search", row.key])
    _, have = poll(bob, wire, {})
    factory.publish(line=[factory.place(row, 1)])
    status, fresh = poll(bob, wire, have)
    assert (status, set(fresh)) == (200, {"pulse", "state"})
    assert poll(bob, wire, have | fresh) == (204, {})


def test_a_new_stamp_alone_sends_only_the_pulse(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob)
    factory.publish(line=[factory.place(row, 1)])
    wire = reverse("live_key", args=["search", row.key])
    _, have = poll(bob, wire, {})
    Snapshot.objects.update(stamped_at=timezone.now() + timedelta(seconds=2))
    assert set(poll(bob, wire, have)[1]) == {"pulse"}


def test_an_end_sends_the_results_and_leaves_the_header_to_go_on(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    Submission.objects.filter(pk=row.pk).update(status=Status.RUNNING, phase=Phase.MERGING)
    wire = reverse("live_key", args=["search", row.key])
    _, have = poll(bob, wire, {})
    Submission.objects.filter(pk=row.pk).update(status=Status.COMPLETED, phase=Phase.READY, version=9)
    html = bob.get(wire, {"seen": seen(have)}).content.decode()
    assert set(marks(html)) == {"pulse", "state", "acts", "results", "facts", "story"}
    assert 'data-poll="/live/word/"' in html and 'data-tab="✓ 119 hits' in html
    status, fresh = poll(bob, "/live/word/", marks(html))
    assert set(fresh) <= {"pulse"} and status in (200, 204)


def test_the_polled_pieces_are_those_of_the_page(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    page = bob.get(reverse("search", args=[row.key])).content.decode()
    asked = pages.subject("search", pages.viewer_of(people.bob), row.key)
    for name, piece in pages.pieces(asked).items():
        pushed = piece.push()[1].replace(' hx-swap-oob="true"', "")
        if name != "pulse":
            assert pushed in page, name


def test_a_mark_is_rendered_once_for_all_who_see_the_same(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    factory.publish()
    rendered: list[str] = []

    def render(name: str, context: Context) -> SafeString:
        rendered.append(name)
        return render_to_string(name, context)

    monkeypatch.setattr(pieces, "render_to_string", render)
    for user in (people.bob, people.eve, people.bob):
        asked = pages.subject("gate", pages.viewer_of(user))
        consumers.render(asked, {})
    assert rendered.count("_board.html") == 1


def test_the_board_is_each_viewers_own_where_they_have_a_search(people: People) -> None:
    factory.publish(line=[factory.place(factory.waiting(people.bob), 1)])
    boards = {
        user.username: pages.pieces(pages.subject("gate", pages.viewer_of(user)))["board"].push()[1]
        for user in (people.bob, people.eve, people.ann)
    }
    assert "yours is 1st" in boards["bob"] and "yours" not in boards["eve"]
    assert "Human haemoglobin" in boards["ann"] and "Human haemoglobin" in boards["bob"]
    assert "Human haemoglobin" not in boards["eve"]


def test_a_page_older_than_ten_seconds_says_so(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob)
    factory.publish(line=[factory.place(row, 1)])
    assert 'class="pulse gate-open"' in bob.get(reverse("gate")).content.decode()
    Snapshot.objects.update(stamped_at=timezone.now() - timedelta(seconds=12))
    page = bob.get(reverse("gate")).content.decode()
    assert 'class="pulse gate-open late"' in page and "as of 12 s ago" in page
    assert '<body class=" late">' in page
    Snapshot.objects.update(stamped_at=timezone.now() - timedelta(seconds=16))
    assert "gate=unknown" in bob.get(reverse("gate")).content.decode()


def test_what_the_gates_do_is_said_to_be_unknown_everywhere(people: People, bob: Client) -> None:
    factory.publish(gate="unknown", active=3, slots=[factory.slot(None)])
    page = bob.get(reverse("gate")).content.decode()
    assert "active=?/3" in page and "Not known at the moment" in page
    assert "Free: nobody" not in page and "Nobody waits" not in page and ">free<" not in page
    Snapshot.objects.update(stamped_at=timezone.now() - timedelta(seconds=16))
    factory_view = bob.get(reverse("gate")).content.decode()
    assert "Free: nobody" not in factory_view and "active=?/3" in factory_view


def test_when_both_doors_are_shut_nobody_is_told_that_one_is_enough(people: People, bob: Client) -> None:
    slots = [factory.slot(None, ago=n) for n in (10, 20, 30)]
    factory.publish(gate="A_busy", active=3, slots=slots, lease=factory.lease())
    page = bob.get(reverse("gate")).content.decode()
    assert "the next goes in as soon as this one is through" not in page
    assert "Every place is taken and door A is busy" in page


def test_a_holder_that_fell_silent_is_told(people: People, bob: Client) -> None:
    lease = {**factory.lease(), "since": None, "free_by": None}
    factory.publish(lease=lease)
    assert "silent for too long" in bob.get(reverse("gate")).content.decode()


def test_the_header_pushes_nothing_out_of_what_is_kept(people: People) -> None:
    factory.publish()
    asked = pages.subject("gate", pages.viewer_of(people.bob))
    for _ in range(40):
        pages.pieces(asked)["pulse"].push()
    assert not pieces.memo.found and len(pieces.moments.found) <= pieces.moments.kept


@pytest.mark.parametrize("kind", ["nothing", "search", "board"])
def test_there_is_no_wire_to_what_is_not_there(people: People, bob: Client, kind: str) -> None:
    assert bob.get(reverse("live", args=[kind])).status_code == 404
    assert bob.get(reverse("live_key", args=[kind, "a" * 16])).status_code == 404


@pytest.mark.parametrize("text", ["", ",,,", "state", "state:", ":x", "state:1,pulse", "a" * 10_000, "x:'\"><"])
def test_whatever_a_page_says_it_has_is_taken(people: People, bob: Client, text: str) -> None:
    factory.publish()
    assert bob.get("/live/gate/", {"seen": text}).status_code == 200


def session_of(client: Client) -> str:
    key = client.session.session_key
    assert key
    return key


def test_the_wire_is_for_whoever_may_see_the_page(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob)
    assert consumers.check(session_of(bob), "search", row.key, "").key == row.key
    for session in (session_of(people.client(people.eve)), "", "nonsense"):
        with pytest.raises(NotYours):
            consumers.check(session, "search", row.key, "")


def test_the_wire_ends_with_the_sign_in(people: People, bob: Client) -> None:
    session = session_of(bob)
    assert consumers.check(session, "gate", "", "").viewer.pk == people.bob.pk
    SessionStore(session).delete()
    with pytest.raises(NotYours):
        consumers.check(session, "gate", "", "")


def test_the_wire_ends_when_an_account_is_closed(people: People, bob: Client) -> None:
    people.bob.is_active = False
    people.bob.save()
    with pytest.raises(NotYours):
        consumers.check(session_of(bob), "gate", "", "")


def test_a_page_that_cannot_be_rendered_spoils_none_of_the_others(people: People) -> None:
    row = factory.waiting(people.bob)
    viewer = pages.viewer_of(people.bob)
    gone, board = pages.subject("search", viewer, row.key), pages.subject("gate", viewer)
    row.delete()
    first, second = consumers.render_all([(gone, {}), (board, {})])
    assert isinstance(first, NotYours)
    assert isinstance(second, dict) and set(second) == {"pulse", "board"}


def test_the_list_moves_with_its_searches(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob)
    factory.publish(line=[factory.place(row, 1)])
    address = "/live/searches/?show=live"
    answer = bob.get(address)
    have = marks(answer.content.decode())
    assert "1st in line" in answer.content.decode()
    assert 'data-poll="/live/searches/?show=live"' in answer.content.decode()
    Submission.objects.move(row, Status.FAILED, phase=Phase.ENDED, reason=Reason.CAPACITY_TIMEOUT)
    html = bob.get(f"{address}&seen={seen(have)}").content.decode()
    assert "No search fits" in html


@pytest.mark.django_db(transaction=True)
def test_what_is_chosen_in_an_open_page_stays_chosen_when_the_rest_arrives(people: People, bob: Client) -> None:
    """The page shows what it asked for by itself; the wire is told, and sends what comes of that choice."""
    from coordui.asgi import application

    row = factory.completed(people.bob)
    rows = Submission.objects.filter(pk=row.pk)
    rows.update(status=Status.RUNNING, phase=Phase.SEARCHING)
    have = marks(bob.get(reverse("search", args=[row.key])).content.decode())
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in bob.cookies.items())
    headers = [(b"origin", b"http://localhost"), (b"host", b"localhost"), (b"cookie", cookies.encode())]
    scope = {"type": "websocket", "path": f"/ws/search/{row.key}/", "headers": headers, "subprotocols": []}

    async def told() -> tuple[list[str], str]:
        wire: Any = ApplicationCommunicator(application, {**scope, "query_string": f"seen={seen(have)}".encode()})  # type: ignore[no-untyped-call]
        await wire.send_input({"type": "websocket.connect"})
        assert (await wire.receive_output(10))["type"] == "websocket.accept"
        meanwhile: list[str] = []
        for choice in (f"query=3&seen={seen(have)}", "query=2&other=" + "x" * 2000):
            await wire.send_input({"type": "websocket.receive", "text": choice})
            while not await wire.receive_nothing(0.5):
                meanwhile.append((await wire.receive_output(10))["text"])
        await database_sync_to_async(rows.update)(status=Status.COMPLETED, phase=Phase.READY, version=9)
        last = ""
        while 'id="results"' not in last:
            last = (await wire.receive_output(10))["text"]
        await wire.send_input({"type": "websocket.disconnect", "code": 1000})
        await wire.wait(5)
        return meanwhile, last

    meanwhile, last = async_to_sync(told)()
    assert not [html for html in meanwhile if 'id="results"' in html]
    assert re.search(r'aria-current="true"><td class="num">3</td>', last)
