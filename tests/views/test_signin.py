"""Signing in by address and by password, and the commands that print and make what is needed."""

from __future__ import annotations

import getpass
import logging
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as current
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from submits.models import Database
from submits.views.signin import token_for
from tests.views import factory

pytestmark = pytest.mark.django_db
KEY = "a key of this start, long enough to be one"


@pytest.fixture(autouse=True)
def started() -> None:
    current.LAYOUT.make()
    start_again(KEY)


def start_again(key: str) -> None:
    current.LAYOUT.signin_key.write_text(key)


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def path(printed: str) -> str:
    return "/" + printed.split(maxsplit=1)[0].split("/", 3)[3]


def signed_in(client: Client) -> bool:
    return client.get(reverse("gate_json")).status_code == 200


def test_the_first_user_is_operator_and_administrator() -> None:
    run("signin")
    user = User.objects.get()
    assert (user.username, user.is_staff, user.is_superuser) == (getpass.getuser(), True, True)
    assert not user.has_usable_password()
    run("signin")
    assert User.objects.count() == 1


def test_the_address_signs_in_as_often_as_one_likes(client: Client) -> None:
    address = path(run("signin"))
    for browser in (client, Client()):
        answer = browser.get(address)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/")
        assert signed_in(browser)


def test_the_address_ends_with_the_next_start(client: Client) -> None:
    address = path(run("signin"))
    start_again("another key, for the start that follows")
    assert client.get(address).status_code == 403
    assert not signed_in(client)


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: "9" + t, lambda t: t.swapcase(), lambda t: "1:"])
def test_no_other_address_signs_in(client: Client, change: object) -> None:
    assert callable(change)
    token = token_for(factory.person("ann"))
    assert client.get(reverse("signin_by_address", args=[change(token)])).status_code == 403
    assert not signed_in(client)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"REMOTE_ADDR": "10.1.2.3"},
        {"HTTP_X_FORWARDED_FOR": "10.1.2.3"},
        {"HTTP_X_FORWARDED_FOR": ""},
        {"HTTP_FORWARDED": ""},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"HTTP_X_FORWARDED_HOST": "localhost"},
    ],
)
def test_the_address_is_for_this_machine_alone(client: Client, elsewhere: dict[str, Any]) -> None:
    assert client.get(path(run("signin")), **elsewhere).status_code == 403
    assert not signed_in(client)


def test_a_refused_address_is_logged_without_its_token(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    address = path(run("signin"))
    for name in ("django.request", "submits.views.signin"):
        monitored = logging.getLogger(name)
        monitored.addHandler(caplog.handler)
    try:
        client.get(address, REMOTE_ADDR="10.1.2.3")
    finally:
        for name in ("django.request", "submits.views.signin"):
            logging.getLogger(name).removeHandler(caplog.handler)
    assert "a sign-in address was refused" in caplog.text
    assert address.split("/")[2] not in caplog.text


def test_a_closed_account_is_not_signed_in(client: Client) -> None:
    address = path(run("signin"))
    User.objects.update(is_active=False)
    assert client.get(address).status_code == 403


def test_before_any_start_there_is_no_address() -> None:
    current.LAYOUT.signin_key.unlink()
    with pytest.raises(CommandError, match="Nothing has been started"):
        run("signin")


def test_somebody_else_can_be_named(client: Client) -> None:
    factory.person("ann", administrator=True)
    bob = factory.person("bob")
    client.get(path(run("signin", "bob")))
    assert client.session["_auth_user_id"] == str(bob.pk)
    with pytest.raises(CommandError, match="no user eve"):
        run("signin", "eve")


def test_over_ssh_it_says_how_to_get_here(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ssh" not in run("signin")
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.9 50000 10.0.0.1 22")
    assert f"ssh -L 8000:localhost:8000 {getpass.getuser()}@10.0.0.1" in run("signin")


def test_a_password_signs_in_and_a_wrong_one_is_told(client: Client) -> None:
    factory.person("ann")
    wrong = client.post(reverse("signin"), {"username": "ann", "password": "wrong"})
    assert b"correct username and password" in wrong.content and b'value="ann"' in wrong.content
    answer = client.post(reverse("signin"), {"username": "ann", "password": "hush", "next": "/gate/"})
    assert answer.headers["Location"] == "/gate/"
    assert client.post(reverse("signout")).headers["Location"] == reverse("signin")
    assert not signed_in(client)


def test_after_signing_in_nobody_is_sent_to_another_site(client: Client) -> None:
    factory.person("ann")
    answer = client.post(reverse("signin"), {"username": "ann", "password": "hush", "next": "https://evil.example/"})
    assert answer.headers["Location"] == "/"


def test_adduser_makes_up_a_password_where_it_cannot_ask(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    printed = run("adduser", "bob")
    assert client.login(username="bob", password=printed.split("password: ")[1].strip())
    assert not User.objects.get().is_staff
    with pytest.raises(CommandError, match="already"):
        run("adduser", "bob")
    with pytest.raises(CommandError, match="cannot be a name"):
        run("adduser", "a b")
    run("adduser", "ann", "--operator")
    assert User.objects.get(username="ann").is_staff


def test_adddb_formats_and_registers(tmp_path: Path) -> None:
    file = tmp_path / "Some genes.fa"
    file.write_text(">g1 one\nACGTACGTACGTTTGACGATCGATCAGCTAGCTA\n>g2 two\nTTGACGATCGATCAGCTAGCTAGGGCATCATCG\n")
    run("adddb", str(file), "--title", "My  genes")
    run("adddb", str(file), "--title", "My genes")
    first, second = Database.objects.order_by("pk")
    assert (first.key, first.title, first.molecule, first.sequences) == ("my-genes", "My genes", "nucl", 2)
    assert second.key == "my-genes-2"
    assert Path(first.path).is_relative_to(current.LAYOUT.blastdb)


def test_adddb_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        run("adddb", str(tmp_path / "nothing.fa"))
    (tmp_path / "bad.fa").write_text(">only a header\n")
    with pytest.raises(CommandError, match=r"bad\.fa"):
        run("adddb", str(tmp_path / "bad.fa"))
    assert not Database.objects.exists()
