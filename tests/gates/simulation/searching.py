"""Which schedules are searched. Small numbers come first, so that what Hypothesis shrinks to is short and plain."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.gates.simulation.schedule import Act, Blow, Deed, Schedule, What

# How many requests of a process are worth a blow: an admission makes twelve, a gatekeeper's watches go on for ever.
REACH = {"worker": 16, "submit": 4, "gatekeeper": 30, "older": 10, "older submit": 4}
BOTH = ("worker", "submit", "gatekeeper")
ALL = (*BOTH, "older", "older submit")


@st.composite
def blows(
    draw: st.DrawFn, roles: tuple[str, ...], whats: tuple[What, ...], numbers: int, first: int, last: int | None
) -> Blow:
    role = draw(st.sampled_from(roles))
    return Blow(
        role,
        number=draw(st.integers(0, numbers - 1)),
        request=draw(st.integers(first, REACH[role] - 1 if last is None else last)),
        what=draw(st.sampled_from(whats)),
        how=draw(st.integers(0, 6)),
    )


@st.composite
def schedules(
    draw: st.DrawFn,
    *,
    roles: tuple[str, ...] = BOTH,
    whats: tuple[What, ...] = tuple(What),
    deeds: tuple[Deed, ...] = tuple(Deed),
    ours: int = 1,
    parties: int | None = None,
    older: int = 0,
    ceiling: int | None = None,
    leashed: bool | None = None,
    base: tuple[Blow, ...] = (),
    least: int = 0,
    most: int = 4,
    numbers: int = 4,
    first: int = 0,
    last: int | None = None,
) -> Schedule:
    """`ours`: at least so many searches of ours; `older`: at most so many of an older door; `base`: blows that every
    run has; `least`, `most`: how many others, at the requests `first` to `last` of the first `numbers` processes of
    their role."""
    some = st.lists(blows(roles, whats, numbers, first, last), min_size=least, max_size=most)
    acts = st.lists(st.builds(Act, st.integers(0, 120), st.sampled_from(deeds or tuple(Deed))), max_size=2)
    return Schedule(
        seed=draw(st.integers(0, 999)),
        ours=draw(st.integers(ours, 3)),
        parties=parties or draw(st.integers(1, 2)),
        older=draw(st.integers(0, older)),
        ceiling=ceiling or draw(st.integers(1, 2)),
        leashed=draw(st.booleans()) if leashed is None else leashed,
        blows=(*base, *draw(some)),
        acts=tuple(draw(acts)) if deeds else (),
    )
