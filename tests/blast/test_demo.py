from __future__ import annotations

import pytest

from submits import demo
from submits.blast import plan as planning
from submits.blast.facts import DatabaseFacts
from submits.blast.intake import Search, read_search


def test_there_are_eight_searches_and_some_are_slow() -> None:
    assert len(demo.SEARCHES) == 8 and sum(search.slow for search in demo.SEARCHES) == 3
    assert demo.EXAMPLE is demo.SEARCHES[0] and demo.EXAMPLE.database == demo.databases()[0].key


@pytest.mark.parametrize("search", demo.SEARCHES, ids=lambda search: search.title)
def test_every_example_is_accepted_as_it_stands(made: dict[str, DatabaseFacts], search: demo.DemoSearch) -> None:
    text = search.query()
    read = read_search(text, program=search.program, database=made[search.database], options=search.form())
    assert isinstance(read, Search), read
    assert (read.program, read.task, read.notices) == (search.program, search.task, ())
    batches = planning.make(read, made[search.database], "job-" + "0" * 32).batches
    assert batches >= 10 if search.slow else batches == 1
