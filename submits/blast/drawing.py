"""The coverage picture of one query as plain numbers, for a template that writes SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from submits.blast.results import Hit, evalue_text
from submits.blast.table import Row

WIDTH = 720.0
MARGIN = 12.0
RULER = 28.0
ROW = 14.0
BAR = 9.0
LEAST = 2.0
MOST_HITS = 50

CLASSES = (
    (200.0, "s5", "200 and more"),
    (80.0, "s4", "80 to 200"),
    (50.0, "s3", "50 to 80"),
    (40.0, "s2", "40 to 50"),
    (float("-inf"), "s1", "below 40"),
)


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One alignment. `shade` is a class s1 to s5 by bit score; `points` an arrow that shows the strand."""

    x: float
    y: float
    width: float
    height: float
    shade: str
    title: str
    points: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One hit: its bars, joined by a thin line from `x1` to `x2` at `middle`."""

    number: int
    href: str
    label: str
    y: float
    middle: float
    x1: float
    x2: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Shade:
    shade: str
    label: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything in user units of a `width` by `height` view box. `sentence` says the whole of it in words."""

    width: float
    height: float
    ruler_y: float
    ruler_x1: float
    ruler_x2: float
    ticks: tuple[Tick, ...]
    lanes: tuple[Lane, ...]
    legend: tuple[Shade, ...]
    omitted: int
    sentence: str


def coverage(hits: Sequence[Hit], length: int, *, most: int = MOST_HITS, prefix: str = "#") -> Picture:
    """The first `most` hits against a ruler of `length` letters; `omitted` says how many are left out.

    A bar's `href` is `prefix` and the hit's anchor. Overlapping alignments of one hit stay visible by their borders.
    """
    shown = hits[:most]
    scale = (WIDTH - 2 * MARGIN) / max(1, length)
    lanes = tuple(_lane(hit, RULER + place * ROW, scale, prefix) for place, hit in enumerate(shown))
    many = len(hits)
    reach = f", covering up to {max(hit.cover for hit in hits):.0f} % of it" if hits else ""
    return Picture(
        width=WIDTH,
        height=RULER + max(1, len(shown)) * ROW + 6,
        ruler_y=RULER - 8,
        ruler_x1=MARGIN,
        ruler_x2=WIDTH - MARGIN,
        ticks=_ticks(length, scale),
        lanes=lanes,
        legend=tuple(Shade(shade, label) for _, shade, label in reversed(CLASSES)),
        omitted=many - len(shown),
        sentence=f"{many:,} hit{'' if many == 1 else 's'} on a query of {length:,} letters{reach}.",
    )


def shade(bitscore: float) -> str:
    """The class of a bit score, s1 (weak) to s5 (strong)."""
    return next(name for least, name, _ in CLASSES if bitscore >= least)


def _x(position: float, scale: float) -> float:
    return round(MARGIN + position * scale, 2)


def _lane(hit: Hit, y: float, scale: float, prefix: str) -> Lane:
    # The weakest first, so that the strongest lies on top.
    bars = tuple(_bar(hit, row, y, scale) for row in reversed(hit.hsps))
    return Lane(
        number=hit.number,
        href=f"{prefix}{hit.anchor}",
        label=f"{hit.accession} {hit.title}".strip(),
        y=y,
        middle=round(y + ROW / 2, 2),
        x1=min(bar.x for bar in bars),
        x2=max(round(bar.x + bar.width, 2) for bar in bars),
        bars=bars,
    )


def _bar(hit: Hit, row: Row, y: float, scale: float) -> Bar:
    start, end = sorted((row.qstart, row.qend))
    x = _x(start - 1, scale)
    width = max(LEAST, round((end - start + 1) * scale, 2))
    top = round(y + (ROW - BAR) / 2, 2)
    title = (
        f"{hit.accession}: {row.qstart} to {row.qend} of the query, {row.sstart} to {row.send} of the subject"
        f"{', minus strand' if row.opposite else ''}; {row.pident:.1f} % identical, {row.bitscore:g} bits, "
        f"e-value {evalue_text(row.evalue)}"
    )
    return Bar(x, top, width, BAR, shade(row.bitscore), title, _arrow(x, top, width, minus=row.opposite))


def _arrow(x: float, y: float, width: float, *, minus: bool) -> str:
    """A bar with one pointed end, as the points of a polygon."""
    tip = min(4.0, width / 2)
    right, bottom, middle = round(x + width, 2), round(y + BAR, 2), round(y + BAR / 2, 2)
    if minus:
        neck = round(x + tip, 2)
        corners = [(x, middle), (neck, y), (right, y), (right, bottom), (neck, bottom)]
    else:
        neck = round(right - tip, 2)
        corners = [(x, y), (neck, y), (right, middle), (neck, bottom), (x, bottom)]
    return " ".join(f"{px:g},{py:g}" for px, py in corners)


def _ticks(length: int, scale: float) -> tuple[Tick, ...]:
    """The first letter, about six round positions, and the last letter."""
    step = next(s for power in range(20) for s in (10**power, 2 * 10**power, 5 * 10**power) if s * 6 >= length)
    inner = [at for at in range(step, length, step) if at > 1 and length - at > step * 0.4]
    places = [1, *inner, length] if length > 1 else [1]
    return tuple(Tick(_x(at - 0.5, scale), f"{at:,}") for at in places)
