"""Hints: whoever gives one waits for nothing, and a store that hangs, fails or is started again costs none an error."""

from __future__ import annotations

import asyncio
import os
import queue
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from channels_redis.pubsub import RedisPubSubChannelLayer  # type: ignore[import-untyped]
from redis import Redis

from submits import hints, live
from submits.hints import GROUPS, Hints, Message
from tests.keyvalue import RunningStore, running_store
from tests.world import until


class Sent:
    """A `send` that keeps what it is given, once it is let go."""

    def __init__(self, *, held: bool = False) -> None:
        self.told: queue.Queue[tuple[str, Message]] = queue.Queue()
        self.where: set[tuple[int, int]] = set()  # thread and event loop
        self.begun, self.go = threading.Event(), threading.Event()
        if not held:
            self.go.set()

    async def __call__(self, group: str, message: Message) -> None:
        self.where.add((threading.get_ident(), id(asyncio.get_running_loop())))
        self.begun.set()
        self.go.wait()
        self.told.put((group, message))

    def next(self) -> tuple[str, Message]:
        return self.told.get(timeout=10)


@pytest.fixture
def store() -> Iterator[RunningStore]:
    with running_store() as running:
        yield running


@pytest.fixture
def deaf() -> Iterator[str]:
    """A store that accepts and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def version(number: int) -> Message:
    return {"type": "live.changed", "version": number}


def test_while_the_store_takes_its_time_only_the_newest_of_each_group_waits_and_not_too_many() -> None:
    sent = Sent(held=True)
    given = Hints(sent)
    given.give("first", version(0))
    assert sent.begun.wait(10)
    for number in range(100):
        given.give("one", version(number))
    for number in range(2 * GROUPS):
        given.give(f"group-{number}", version(number))
    given.give("one", version(100))
    assert len(given.waiting) == GROUPS
    sent.go.set()
    told = [sent.next() for _ in range(GROUPS + 1)]
    assert told[0] == ("first", version(0))
    assert [message for group, message in told if group == "one"] == [version(100)]
    assert not given.waiting


def test_all_leave_by_one_thread_and_one_loop_whoever_gives_them() -> None:
    sent = Sent()
    given = Hints(sent)
    begin = threading.Barrier(8)

    def give(number: int) -> None:
        begin.wait()
        given.give(f"group-{number}", version(number))

    givers = [threading.Thread(target=give, args=(number,)) for number in range(8)]
    for giver in givers:
        giver.start()
    assert {sent.next()[0] for _ in givers} == {f"group-{number}" for number in range(8)}
    assert len(sent.where) == 1
    assert {ident for ident, _ in sent.where}.isdisjoint({threading.get_ident(), *(giver.ident for giver in givers)})


def test_after_one_that_failed_the_store_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "QUIET", 0.3)
    tried: queue.Queue[float] = queue.Queue()

    async def fail(group: str, message: Message) -> None:
        tried.put(time.monotonic())
        raise ConnectionRefusedError(group)

    given = Hints(fail)
    given.give("one", version(1))
    before = tried.get(timeout=10)
    given.give("one", version(2))
    given.give("two", version(2))
    assert tried.get(timeout=10) - before >= 0.3


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_store_that_hangs_is_given_up(
    deaf: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hints, "HINT", 0.1)
    monkeypatch.setattr(hints, "QUIET", 0.01)
    given = Hints(RedisPubSubChannelLayer(hosts=[deaf]).group_send)
    given.give("one", version(1))
    until(lambda: "live hint not sent: TimeoutError" in caplog.text)
    given.give("one", version(2))
    until(lambda: caplog.text.count("live hint not sent: TimeoutError") == 2)


def test_one_connection_for_all_and_another_when_the_store_was_started_again(
    store: RunningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "QUIET", 0.01)
    sent: queue.Queue[int] = queue.Queue()
    layer = RedisPubSubChannelLayer(hosts=[{"address": store.url}])

    async def send(group: str, message: Message) -> None:
        await layer.group_send(group, message)
        sent.put(message["version"])

    def made() -> Any:
        return store.client.info("stats")["total_connections_received"]

    given = Hints(send)
    given.give("one", version(0))
    assert sent.get(timeout=10) == 0
    before = made()
    for number in range(1, 6):
        given.give("one", version(number))
        assert sent.get(timeout=10) == number
    assert made() == before + 1  # the question itself
    store.stop()
    store.__init__(store.socket.parent)  # type: ignore[misc]

    def arrives() -> bool:
        given.give("one", version(7))
        return not sent.empty() and sent.get() == 7

    until(arrives)


def test_the_pages_of_a_scope_hear_of_what_is_new(store: RunningStore, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = RedisPubSubChannelLayer(hosts=[{"address": store.url}])
    monkeypatch.setattr(hints, "get_channel_layer", lambda: layer)
    monkeypatch.setattr(live, "HINTS", Hints())
    with Redis.from_url(store.url) as client, client.pubsub() as heard:
        heard.psubscribe("*")
        assert heard.get_message(timeout=10)["type"] == "psubscribe"
        live.hint(7, 3)
        message = heard.get_message(timeout=10)
    assert message["channel"].decode().endswith(f"__{live.group(7)}")
    assert layer.deserialize(message["data"]) == {"type": "live.changed", "version": 3}


def test_a_child_after_a_fork_sends_its_own_although_the_thread_stayed_behind() -> None:
    """As Celery's children are: forked while their parent's thread sends, and may have something locked."""
    reader, writer = os.pipe()
    sent = Sent(held=True)
    given = Hints(sent)
    given.give("parent", version(1))
    assert sent.begun.wait(10)
    given.give("parent's next", version(2))
    given.starting.acquire()  # as if another thread were just starting one
    child = os.fork()
    if child == 0:
        try:
            told = Sent()
            given.send = told
            given.give("child", version(3))
            os.write(writer, f"{told.next()} {len(given.waiting)}".encode())
        finally:
            os._exit(0)
    given.starting.release()
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as said:
        assert said.read() == f"{('child', version(3))} 0"
    sent.go.set()
    assert [sent.next()[0] for _ in range(2)] == ["parent", "parent's next"]
