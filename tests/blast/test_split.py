from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from submits.blast.split import Rule, split


def test_a_batch_ends_before_the_sequence_that_would_overfill_it() -> None:
    assert split([4, 4, 4], Rule(8)) == [range(0, 2), range(2, 3)]
    assert split([4, 4, 1], Rule(9)) == [range(0, 3)]
    assert split([50, 1, 50], Rule(10)) == [range(0, 1), range(1, 2), range(2, 3)]
    assert split([1] * 5, Rule(100, queries=2)) == [range(0, 2), range(2, 4), range(4, 5)]
    assert split([], Rule(10)) == []


def test_free_slots_are_used() -> None:
    assert split([5] * 8, Rule(1000, slots=4)) == [range(0, 2), range(2, 4), range(4, 6), range(6, 8)]
    assert split([5], Rule(1000, slots=4)) == [range(0, 1)]


def test_there_are_never_more_batches_than_allowed() -> None:
    assert len(split([10] * 1000, Rule(10, most=7))) <= 7


@given(
    st.lists(st.integers(1, 300), max_size=120),
    st.builds(Rule, st.integers(1, 500), st.integers(1, 50), st.integers(1, 6), st.integers(1, 40)),
)
def test_together_they_are_the_whole_in_order(lengths: list[int], rule: Rule) -> None:
    batches = split(lengths, rule)
    assert [index for batch in batches for index in batch] == list(range(len(lengths)))
    assert all(len(batch) for batch in batches)
    assert len(batches) <= rule.most
    if len(batches) == len(split(lengths, Rule(rule.letters, rule.queries, most=10**6))):
        assert all(len(batch) == 1 or sum(lengths[i] for i in batch) <= rule.letters for batch in batches)
