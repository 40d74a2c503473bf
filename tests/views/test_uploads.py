"""Long queries come in as files: never whole in memory, whole or not at all in the work store."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from coordui.asgi import application
from submits import forms, receiving
from submits.blast.encoding import PIECE
from submits.blast.intake import Search
from submits.models import Submission
from submits.scopes import store
from submits.work import run_key
from tests.views import factory
from tests.views.conftest import People
from tests.views.test_new import GENE, send, text_of, token_in

LONG = "".join(f">g{number}\n{GENE.split()[1]}\n" for number in range(3 * PIECE // 70)).encode()


class Watched(io.BytesIO):
    """A file that is not to be read whole."""

    def read(self, many: int | None = -1) -> bytes:
        assert many is not None and 0 < many <= PIECE
        return super().read(many)


@pytest.fixture(autouse=True)
def databases(people: People) -> None:
    factory.database("lambda")


def test_a_long_file_is_never_read_whole(people: People) -> None:
    draft, database = (
        forms.Draft(file=Watched(LONG), file_name="long.fa", database="lambda"),
        factory.database("lambda"),
    )
    search = forms.read(draft, database)
    assert isinstance(search, Search) and draft.kept().text == ""
    row = receiving.receive(
        owner=people.bob, scope=database.scope, search=search, text=draft.opened(), database=database, title="Long",
        form_key=draft.key, digest=draft.digest,
    )  # fmt: skip
    assert store().get(run_key(row.run_id, "query.fa")) == LONG
    again = forms.Draft.again(row, Watched(LONG))
    assert (again.text, again.source, again.source_size) == ("", row.key, len(LONG))


def test_a_form_with_a_file_is_told_apart_from_one_with_another_to_the_last_byte() -> None:
    one, same, other = (forms.Draft(file=io.BytesIO(data)) for data in (LONG, LONG, LONG[:-1] + b"C"))
    assert one.digest == one.digest == same.digest != other.digest
    assert one.digest == forms.Draft(text=LONG.decode()).digest


def test_what_moves_from_the_sequences_to_the_choices_is_told_apart() -> None:
    assert forms.Draft(text=">a\nACGT", database="x").digest != forms.Draft(text=">a\nACG", database="Tx").digest


@pytest.mark.parametrize("error", [OperationalError("the server closed the connection"), RuntimeError("stopped")])
def test_a_query_that_got_no_row_leaves_no_file(
    people: People, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise error

    draft, database = forms.Draft(text=f">g\n{GENE.split()[1]}", database="lambda"), factory.database("lambda")
    search = forms.read(draft, database)
    assert isinstance(search, Search)
    before = set(store().names("runs"))
    monkeypatch.setattr(Submission, "save", refused)
    with pytest.raises(type(error)):
        receiving.receive(
            owner=people.bob, scope=database.scope, search=search, text=draft.opened(), database=database, title="t",
            form_key=draft.key, digest=draft.digest,
        )  # fmt: skip
    assert set(store().names("runs")) == before


def test_while_a_form_is_filled_in_the_beginning_of_a_long_file_is_looked_at(
    bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "LOOKED_AT", 3_000)

    def looked(data: bytes, **more: str) -> str:
        sent = {"file": SimpleUploadedFile("a.fa", data), "database": "lambda", **more}
        return text_of(bob.post(reverse("look"), sent))

    short, long, faulty = looked(LONG[:1_000]), looked(LONG), looked(LONG + b"?")
    assert "Only the first 1 MB" not in short
    assert "Only the first 1 MB" in long and long == faulty
    assert f"{LONG[:3_000].count(b'>') - 1} sequences" in long
    assert f"{LONG[:3_000].count(b'>') - 1} nucleotide sequences" in looked(LONG, program="blastp")
    assert "no sequence letter" in looked(LONG[:1_000] + b"?")
    assert "no sequence letter" in looked(b">a\n?\n" + LONG)


def test_a_file_that_was_laid_on_a_disk_is_kept_to_the_byte_and_taken_away(
    bob: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR, settings.FILE_UPLOAD_MAX_MEMORY_SIZE = str(tmp_path), 1000
    data = LONG.replace(b"\n", b"\r\n")
    assert send(bob, query="", database="lambda", file=SimpleUploadedFile("long.fa", data)).status_code == 302
    row = Submission.objects.get()
    assert store().get(run_key(row.run_id, "query.fa")) == data
    assert (row.queries, row.letters) == (LONG.count(b">"), LONG.count(b">") * len(GENE.split()[1]))
    assert not list(tmp_path.iterdir())


def test_what_is_typed_has_a_limit_of_its_own_and_stays(bob: Client, settings: Settings) -> None:
    settings.COORDUI_MAX_TYPED_BYTES = len(GENE) - 1
    answer = send(bob, query=GENE, database="lambda", title="kept")
    page = text_of(answer)
    assert answer.status_code == 422 and not Submission.objects.exists()
    assert f"There are {len(GENE)} bytes in the box; it takes {len(GENE) - 1}." in page and "a file may have" in page
    assert GENE.split()[1] in page and 'value="kept"' in page
    assert send(bob, query="", database="lambda", file=SimpleUploadedFile("g.fa", GENE.encode())).status_code == 302


def sent(client: Client, body: bytes, cut: int | None) -> list[dict[str, Any]]:
    """What the site answers to a form that breaks off after `cut` bytes, when the line is lost."""
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    headers = {"host": "localhost", "origin": "http://localhost", "cookie": cookies, "content-length": str(len(body))}
    headers["content-type"] = "multipart/form-data; boundary=line"
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": "/",
        "raw_path": b"/", "root_path": "", "scheme": "http", "query_string": b"",
        "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    coming = [{"type": "http.request", "body": body[:cut], "more_body": cut is not None}]
    answers: list[dict[str, Any]] = []
    ended = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if coming:
            return coming.pop()
        if cut is None:
            await ended.wait()
        return {"type": "http.disconnect"}

    async def send_(message: dict[str, Any]) -> None:
        answers.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            ended.set()

    site: Any = application
    asyncio.run(site(scope, receive, send_))
    return answers


@pytest.mark.django_db(transaction=True)
def test_a_line_that_is_lost_in_the_middle_of_a_file_leaves_nothing(
    people: People, settings: Settings, tmp_path: Path
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR, settings.FILE_UPLOAD_MAX_MEMORY_SIZE = str(tmp_path), 1000
    client = people.client(people.bob)
    fields = {"csrfmiddlewaretoken": token_in(client.get(reverse("new"))), "database": "lambda", "form_key": "f" * 32}
    part = '--line\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    head = "".join(part.format(name, value) for name, value in fields.items())
    head += '--line\r\nContent-Disposition: form-data; name="file"; filename="long.fa"\r\n\r\n'
    body = head.encode() + LONG + b"\r\n--line--\r\n"
    before = set(store().names("runs"))
    assert sent(client, body, len(body) // 2) == []
    assert not Submission.objects.exists() and set(store().names("runs")) == before
    assert [message.get("status") for message in sent(client, body, None)][:1] == [302]
    assert Submission.objects.get().queries == LONG.count(b">")
    assert not list(tmp_path.iterdir())
