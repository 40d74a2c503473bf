from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.onebox.running import Running


@pytest.fixture
def up() -> Iterator[Callable[..., Running]]:
    """Starts `manage.py up` with the given words; whatever is left of it at the end is killed."""
    started: list[Running] = []

    def start(*words: str, **environment: str) -> Running:
        started.append(Running(words, environment))
        return started[-1]

    yield start
    for running in started:
        running.kill()
    for running in started:
        running.is_gone()
