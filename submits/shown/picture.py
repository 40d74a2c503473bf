"""Where everything in the picture goes: a scene in, plain shapes out, for `_picture.html` to draw. Pure.

Three layouts of one scene: `wide` and `tall` for the board (a page shows the one that fits), `small` for one search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from submits.shown.scene import Figure, Scene, sentence
from submits.shown.words import clip, moment, ordinal

Area = tuple[float, float, float]  # left edge, top edge, width


@dataclass(frozen=True)
class Text:
    x: float
    y: float
    text: str
    kind: str = "small"  # head, strong, small
    anchor: str = "middle"
    since: str | None = None  # the text is the time since then, and ticks


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    kind: str  # free, taken, mine, unknown
    done: float | None = None
    marked: bool = False

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def above(self) -> float:
        return self.y - 3

    @property
    def inset(self) -> float:
        return self.x + 10

    @property
    def floor(self) -> float:
        return self.y + self.height - 12

    @property
    def track(self) -> float:
        return self.width - 20

    @property
    def bar(self) -> float:
        return round(self.track * (self.done or 0), 1)


@dataclass(frozen=True)
class Sheet:
    """The results: a sheet of paper with a folded corner and three lines on it."""

    x: float
    y: float
    width: float
    height: float
    mine: bool

    @property
    def outline(self) -> str:
        fold = self.width / 4
        return f"M{self.x:g} {self.y:g}h{self.width - fold:g}l{fold:g} {fold:g}v{self.height - fold:g}h{-self.width:g}z"

    @property
    def lines(self) -> str:
        left, long = self.x + self.width / 5, self.width * 3 / 5
        return "".join(f"M{left:g} {self.y + self.height * part:g}h{long:g}" for part in (0.42, 0.6, 0.78))


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    radius: float
    mine: bool

    @property
    def above(self) -> float:
        return self.y - self.radius - 3


@dataclass(frozen=True)
class Door:
    """Two posts with a leaf between them: across when it is shut, swung forward when it is open."""

    x: float
    y: float
    length: float
    letter: str  # "" draws none
    open: bool
    known: bool = True
    level: bool = False  # lies flat: the way through goes down, not right

    @property
    def state(self) -> str:
        return "unknown" if not self.known else "open" if self.open else "shut"

    def at(self, along: float, across: float = 0) -> str:
        x, y = (self.x + along, self.y + across) if self.level else (self.x + across, self.y + along)
        return f"{x:g} {y:g}"

    @property
    def jamb(self) -> float:
        return round(self.length * 0.18, 1)

    @property
    def posts(self) -> str:
        end = self.length
        return f"M{self.at(0)}L{self.at(self.jamb)}M{self.at(end - self.jamb)}L{self.at(end)}"

    @property
    def leaf(self) -> str:
        gap = self.length - 2 * self.jamb
        to = self.at(self.jamb + gap * 0.3, min(gap * 0.3, 13)) if self.open else self.at(self.jamb + gap)
        return f"M{self.at(self.jamb)}L{to}"

    @property
    def knob(self) -> tuple[float, float]:
        return (self.x - 18, self.y) if self.level else (self.x, self.y - 17)


@dataclass(frozen=True)
class Arrow:
    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def down(self) -> bool:
        return self.x1 == self.x2


@dataclass(frozen=True)
class Drawing:
    name: str
    width: int
    height: int
    sentence: str
    dots: tuple[Dot, ...]
    boxes: tuple[Box, ...]
    sheet: Sheet
    doors: tuple[Door, ...]
    arrows: tuple[Arrow, ...]
    texts: tuple[Text, ...]


def kind_of(figure: Figure | None, scene: Scene) -> str:
    if figure is None:
        return "unknown" if scene.unknown else "free"
    return "mine" if figure.mine else "taken"


def nobody(scene: Scene) -> str:
    return "not known" if scene.unknown else "free"


def heads(scene: Scene) -> tuple[str, str]:
    """What stands over the line and over the places."""
    if scene.unknown:
        return "line", "running"
    line = f"{len(scene.line)} waiting" if scene.line else "nobody waits"
    return line, f"running {scene.active} of {len(scene.places)}"


def door(scene: Scene, x: float, y: float, length: float, letter: str, *, b: bool = False, level: bool = False) -> Door:
    passable = scene.active < len(scene.places) if b else scene.door is None
    return Door(x, y, length, letter, passable, not scene.unknown, level)


def holder_box(scene: Scene, x: float, y: float, width: float, height: float) -> tuple[Box, list[Text]]:
    """The room between the doors: at most one search is being submitted there."""
    box, middle = Box(x, y, width, height, kind_of(scene.door, scene)), x + width / 2
    if scene.door is None:
        return box, [Text(middle, y + height / 2 + 5, nobody(scene))]
    texts = [Text(middle, y + 24, clip(scene.door.label, int(width / 8)), "strong")]
    texts += [Text(middle, y + 43, "", "small", since=scene.door.since)] if scene.door.since else []
    texts += [Text(middle, y + 61, scene.door.way)]
    free_by = moment(scene.free_by)
    if free_by is not None and height >= 88:
        texts.append(Text(middle, y + 79, f"free by {free_by:%H:%M} UTC at latest"))
    return box, texts


def place_box(
    scene: Scene, figure: Figure | None, x: float, y: float, width: float, height: float
) -> tuple[Box, list[Text]]:
    box = Box(x, y, width, height, kind_of(figure, scene), figure.done if figure is not None else None)
    middle = x + width / 2
    if figure is None:
        return box, [Text(middle, y + height / 2 + 5, nobody(scene))]
    label, note = figure.label, figure.note
    if width < 110:
        label, note = label.removesuffix(" search"), note.removesuffix(" batches").removesuffix(" batch")
    texts = [Text(middle, y + 24, clip(label, int(width / 8)), "strong")]
    if note:
        texts.append(Text(middle, y + 43, clip(note, int(width / 6.2))))
    if height >= 88 and figure.since:
        texts.append(Text(middle, y + 61, "", since=figure.since))
    return box, texts


def queue(
    scene: Scene, *, first: float, y: float, step: float, radius: float, most: int
) -> tuple[list[Dot], list[Text]]:
    """Dots from the door backwards; what does not fit is a number at the end. One's own is always drawn."""
    spots = [first + n * step for n in range(most)]
    line = list(scene.line)
    mine = next((n for n, figure in enumerate(line) if figure.mine), 0)
    texts: list[Text] = []
    if mine >= most:  # far back: the first ones, a gap, and the marked one
        texts.append(Text(spots[-2], y + 4, "…"))
        dots = [Dot(x, y, radius, figure.mine) for x, figure in zip(spots[:-2], line, strict=False)]
        dots.append(Dot(spots[-1], y, radius, True))
        rest = len(line) - mine - 1
    else:
        dots = [Dot(x, y, radius, figure.mine) for x, figure in zip(spots, line, strict=False)]
        rest = len(line) - len(dots)
    if rest:
        texts.append(Text(spots[-1] - radius - 4, y + 4, f"+{rest}", anchor="end"))
    return dots, texts


def your_turn(scene: Scene) -> str:
    mine = next((n for n, f in enumerate(scene.line, 1) if f.mine), None)
    return "" if mine is None else "you are next" if mine == 1 else f"you are {ordinal(mine)}"


def grid(count: int, columns: int, area: Area, *, height: float, gap: float = 12) -> list[Area]:
    """Left edge, top edge and width of each of `count` boxes, in rows of `columns`."""
    x, y, width = area
    columns = max(1, min(columns, count))
    one = round((width - gap * (columns - 1)) / columns, 1)
    return [(x + (n % columns) * (one + gap), y + (n // columns) * (height + gap), one) for n in range(count)]


def wide(scene: Scene) -> Drawing:
    """For screens from 760 px: left to right."""
    rows = -(-len(scene.places) // 3) or 1
    height = 92 if rows == 1 else 60
    inner = rows * height + (rows - 1) * 12
    top, middle = 52, 52 + inner / 2
    dots, texts = queue(scene, first=214, y=middle, step=-24, radius=8, most=8)
    line, running = heads(scene)
    texts += [
        Text(20, 20, line, "head", "start"),
        Text(394, 20, "being submitted", "head"),
        Text(738, 20, running, "head"),
        Text(972, 20, "results", "head"),
    ]
    if scene.line:
        texts.append(Text(20, middle + 36, "oldest", anchor="start"))
        texts.append(Text(62, middle + 36, "", anchor="start", since=scene.line[0].since))
    if turn := your_turn(scene):
        texts.append(Text(20, middle + 54, turn, "strong", "start"))
    box, inside = holder_box(scene, 306, middle - 46, 176, 92)
    boxes, texts = [box], texts + inside
    for figure, (x, y, w) in zip(scene.places, grid(len(scene.places), 3, (552, top, 372), height=height), strict=True):
        box, inside = place_box(scene, figure, x, y, w, height)
        boxes, texts = [*boxes, box], texts + inside
    sheet = Sheet(956, middle - 26, 40, 52, scene.finished)
    doors = (
        door(scene, 284, top - 6, inner + 12, "A"),
        door(scene, 532, top - 6, inner + 12, "B", b=True),
    )
    stops = ((232, 270), (490, 518), (932, 948))
    arrows = tuple(Arrow(a, middle, b, middle) for a, b in stops)
    height = int(top + inner) + 20
    return Drawing("wide", 1000, height, sentence(scene), tuple(dots), tuple(boxes), sheet, doors, arrows, tuple(texts))


def tall(scene: Scene) -> Drawing:
    """For phones: top to bottom, 340 wide."""
    dots, texts = queue(scene, first=250, y=48, step=-24, radius=8, most=8)
    line, running = heads(scene)
    texts += [
        Text(4, 20, line, "head", "start"),
        Text(4, 101, "being submitted", "head", "start"),
        Text(4, 237, running, "head", "start"),
    ]
    if scene.line:
        texts += [Text(4, 76, "oldest", anchor="start"), Text(46, 76, "", anchor="start", since=scene.line[0].since)]
    if turn := your_turn(scene):
        texts.append(Text(336, 20, turn, "strong", "end"))
    box, inside = holder_box(scene, 4, 116, 332, 92)
    boxes, texts = [box], texts + inside
    spots = grid(len(scene.places), 3, (4, 252, 332), height=64)
    for figure, (x, y, w) in zip(scene.places, spots, strict=True):
        box, inside = place_box(scene, figure, x, y, w, 64)
        boxes, texts = [*boxes, box], texts + inside
    bottom = max((y for _, y, _ in spots), default=252) + 64
    texts.append(Text(4, bottom + 50, "results", "head", "start"))
    doors = (
        door(scene, 200, 96, 100, "A", level=True),
        door(scene, 200, 232, 100, "B", b=True, level=True),
    )
    arrows = (Arrow(250, 62, 250, 86), Arrow(250, 212, 250, 224), Arrow(250, bottom + 6, 250, bottom + 20))
    sheet = Sheet(234, bottom + 26, 32, 40, scene.finished)
    height = int(bottom) + 72
    return Drawing("tall", 340, height, sentence(scene), tuple(dots), tuple(boxes), sheet, doors, arrows, tuple(texts))


def marked(box: Box) -> Box:
    return replace(box, marked=box.kind == "mine")


def small(scene: Scene) -> Drawing:
    """For one search: the same picture without words, with itself marked."""
    dots, texts = queue(scene, first=79, y=30, step=-13, radius=5, most=5)
    boxes = [marked(Box(112, 14, 40, 32, kind_of(scene.door, scene)))]
    spots = grid(len(scene.places), len(scene.places), (184, 14, 108), height=32, gap=5)
    for figure, (x, y, w) in zip(scene.places, spots, strict=True):
        boxes.append(marked(Box(x, y, w, 32, kind_of(figure, scene))))
    sheet = Sheet(316, 12, 28, 36, scene.finished)
    doors = (door(scene, 102, 8, 44, ""), door(scene, 174, 8, 44, "", b=True))
    labels = ((46, "line"), (102, "A"), (132, "submit"), (174, "B"), (238, "running"), (330, "results"))
    texts += [Text(x, 66, label) for x, label in labels]
    arrows = (Arrow(86, 30, 96, 30), Arrow(156, 30, 168, 30), Arrow(298, 30, 310, 30))
    return Drawing("small", 360, 72, sentence(scene), tuple(dots), tuple(boxes), sheet, doors, arrows, tuple(texts))
