"""Hints: a store that hangs costs a moment, once, and never an error."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from channels_redis.pubsub import RedisPubSubChannelLayer  # type: ignore[import-untyped]

from submits import live


@pytest.fixture
def deaf() -> Iterator[str]:
    """A store that accepts and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_store_that_hangs_costs_a_second_and_then_nothing_for_a_while(
    deaf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_quiet_until", 0.0)
    monkeypatch.setattr(live, "get_channel_layer", lambda: RedisPubSubChannelLayer(hosts=[deaf]))
    begun = time.monotonic()
    live.hint(1, 1)
    assert 0.9 < time.monotonic() - begun < 5
    begun = time.monotonic()
    for version in range(100):
        live.hint(1, version)
    assert time.monotonic() - begun < 0.5
