from __future__ import annotations

import pytest

from submits import demo
from submits.blast import drawing
from submits.blast.facts import DatabaseFacts
from tests.blast.searching import searched


def test_bars_lie_where_the_alignments_are(globins: DatabaseFacts) -> None:
    hits = searched(demo.EXAMPLE.query(), globins).hits(1)
    picture = drawing.coverage(hits, 146)
    assert len(picture.lanes) == len(hits) and picture.omitted == 0
    whole = picture.lanes[0].bars[0]
    assert (whole.x, whole.x + whole.width) == (picture.ruler_x1, picture.ruler_x2)
    scale = (picture.ruler_x2 - picture.ruler_x1) / 146
    for hit, lane in zip(hits, picture.lanes, strict=True):
        assert lane.href == f"#hit-{hit.number}" and lane.y + drawing.ROW <= picture.height
        for row, bar in zip(reversed(hit.hsps), lane.bars, strict=True):
            assert bar.x == pytest.approx(picture.ruler_x1 + (row.qstart - 1) * scale, abs=0.01)
            assert bar.x + bar.width <= picture.ruler_x2 + drawing.LEAST
            assert bar.shade == drawing.shade(row.bitscore)
    assert picture.sentence == f"{len(hits)} hits on a query of 146 letters, covering up to 100 % of it."


def test_the_strand_is_the_arrows_direction(phage: DatabaseFacts) -> None:
    (hit,) = searched(demo.records("reads", 1), phage).hits(1)
    bar = drawing.coverage([hit], 194).lanes[0].bars[0]
    assert bar.points.split()[0] == f"{bar.x:g},{bar.y + bar.height / 2:g}"
    assert "12452 to 12259 of the subject, minus strand" in bar.title


def test_more_hits_than_fit_are_counted(globins: DatabaseFacts) -> None:
    hits = searched(demo.EXAMPLE.query(), globins).hits(1)
    picture = drawing.coverage(hits, 146, most=5, prefix="?q=1#")
    assert (len(picture.lanes), picture.omitted) == (5, len(hits) - 5)
    assert picture.lanes[0].href == "?q=1#hit-1"


@pytest.mark.parametrize("length", [1, 2, 9, 60, 194, 1000, 48502, 10**7])
def test_the_ruler_has_a_few_round_ticks(length: int) -> None:
    ticks = drawing.coverage([], length).ticks
    places = [int(tick.label.replace(",", "")) for tick in ticks]
    assert places[0] == 1 and places[-1] == length and places == sorted(set(places))
    assert len(places) <= 8 and (length < 10 or len(places) >= 3)
    assert all(12 <= tick.x <= 708 for tick in ticks)


def test_no_hits_is_a_picture_too() -> None:
    picture = drawing.coverage([], 100)
    assert picture.lanes == () and picture.sentence == "0 hits on a query of 100 letters."


def test_shades_grow_with_the_score() -> None:
    assert [drawing.shade(bits) for bits in (0, 39.9, 40, 50, 80, 200, 5000)] == [
        "s1",
        "s1",
        "s2",
        "s3",
        "s4",
        "s5",
        "s5",
    ]
    assert [entry.shade for entry in drawing.coverage([], 9).legend] == ["s1", "s2", "s3", "s4", "s5"]
