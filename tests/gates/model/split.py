"""A split search beside ordinary ones: a parent with its children, one gate, one count.

A child has no ticket and does not count. It takes the gate, patches its parent's reservation to last, and goes on only
if that is still there; if not, the parent is admitted anew first. What is left out: v1, which counts every child.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tests.gates.model.search import Explored, Step, explore

CEILING = "more searches run than the ceiling, a split counted once"
OVERLAP = "two submits run at once"
At = Literal["S1", "S5", "S6", "S8", "S9", "children", "end", "dead"]
Child = Literal["waits", "has the gate", "S8", "late", "runs", "ended"]
PARENT, FIRST_CHILD = 0, 100  # who holds the gate; ordinary searches are 1, 2, …
FREE = -1


@dataclass(frozen=True)
class SplitRules:
    patches: bool = True  # a child goes on only if its parent's reservation is still there
    leaves_out_own: bool = True  # the parent's count leaves its own run out
    children_first: bool = False  # the strictest reading: nobody else takes the gate while a child waits


class Search(NamedTuple):
    at: At = "S1"
    mark: bool = False
    runs: bool = False


class Split(NamedTuple):
    at: At = "S1"
    mark: bool = False
    children: tuple[Child, ...] = ("waits", "waits")
    alive: bool = True


class World(NamedTuple):
    gate: int
    parent: Split
    searches: tuple[Search, ...]
    crashes: int


class SplitModel:
    def __init__(self, searches: int, ceiling: int, crashes: int, rules: SplitRules) -> None:
        self.ceiling, self.rules = ceiling, rules
        self.start = World(FREE, Split(), (Search(),) * searches, crashes)

    def places(self, world: World, leaving_out: int) -> int:
        taken = {n for n, s in enumerate(world.searches, 1) if s.mark or s.runs}
        if world.parent.mark or any(c in ("late", "runs") for c in world.parent.children):
            taken.add(PARENT)
        if leaving_out or self.rules.leaves_out_own:
            taken.discard(leaving_out)
        return len(taken)

    def steps(self, world: World) -> Iterator[Step[World]]:
        for n in range(len(world.searches)):
            yield from self.ordinary(world, n)
        yield from self.parent(world) if world.parent.alive else self.without_parent(world)
        for n in range(len(world.parent.children)):
            yield from self.child(world, n)

    def ordinary(self, world: World, n: int) -> Iterator[Step[World]]:
        s, who = world.searches[n], n + 1

        def to(text: str, after: Search, gate: int = world.gate, crash: bool = False) -> Step[World]:
            searches = (*world.searches[:n], after, *world.searches[n + 1 :])
            made = world._replace(gate=gate, searches=searches, crashes=world.crashes - crash)
            return Step(who, text, made, crash)

        match s.at:
            case "S1" if world.gate == FREE and self.places(world, who) < self.ceiling and not self.must_wait(world):
                yield to("takes the gate (S3)", s._replace(at="S5"), who)
            case "S5":
                yield to("reserves (S5)", s._replace(at="S6", mark=True))
            case "S6" if self.places(world, who) >= self.ceiling:
                yield to("counts: full (S6)", Search(), FREE)
            case "S6":
                yield to("counts (S6), proves its hold (S7), submits (S8)", s._replace(at="S8"))
            case "S8":
                yield to("'s submit writes its finalizer (S8)", s._replace(at="S9", runs=True))
            case "S9":
                yield to(
                    "deletes its reservation and releases the gate (S9-S11)", s._replace(at="end", mark=False), FREE
                )
        if world.crashes and s.at in ("S5", "S6", "S8", "S9"):
            yield to(f"'s process dies in {s.at}, and its submit with it", s._replace(at="dead"), crash=True)
        if s.at == "dead" and world.gate == who:
            yield to("'s gate is taken over and released", s, FREE)
        elif s.at == "dead" and s.mark:
            yield to("'s reservation is removed by a repair", s._replace(mark=False))
        if s.runs:
            yield to("'s search ends", s._replace(runs=False))

    def must_wait(self, world: World) -> bool:
        waits = world.parent.mark and "waits" in world.parent.children
        return self.rules.children_first and waits and world.parent.at == "children"

    def parent(self, world: World) -> Iterator[Step[World]]:
        p = world.parent

        def to(text: str, after: Split, gate: int = world.gate, crash: bool = False) -> Step[World]:
            return Step(PARENT, text, world._replace(gate=gate, parent=after, crashes=world.crashes - crash), crash)

        match p.at:
            case "S1" if world.gate == FREE and self.places(world, PARENT) < self.ceiling:
                yield to("takes the gate (S3)", p._replace(at="S5"), PARENT)
            case "S5":
                yield to("reserves (S5)", p._replace(at="S6", mark=True))
            case "S6" if self.places(world, PARENT) >= self.ceiling:
                yield to("counts: full (S6)", p._replace(at="S1", mark=False), FREE)
            case "S6":
                yield to("counts (S6), proves its hold (S7) and releases the gate", p._replace(at="children"), FREE)
            case "children" if all(c in ("runs", "ended") for c in p.children):
                yield to("deletes its reservation: the last is submitted", p._replace(at="end", mark=False))
        if p.mark and not self.last(p) and p.at == "children":
            yield to("is frozen; its reservation reaches its deadline", p._replace(mark=False))._replace(fault=True)
        if world.crashes and p.at not in ("S1", "end"):
            killed: tuple[Child, ...] = tuple("late" if c == "S8" else c for c in p.children)
            yield to(
                "'s process dies, and a child's submit with it", p._replace(alive=False, children=killed), crash=True
            )

    def last(self, p: Split) -> bool:
        """A child has made the reservation last for as long as its submit can write, and no patch lasts longer."""
        return self.rules.patches and any(c in ("S8", "late") for c in p.children)

    def without_parent(self, world: World) -> Iterator[Step[World]]:
        p = world.parent
        if p.mark and not self.last(p):
            yield Step(PARENT, "'s reservation reaches its deadline", world._replace(parent=p._replace(mark=False)))
        if world.gate == PARENT:
            yield Step(PARENT, "'s gate is taken over and released", world._replace(gate=FREE))
        elif world.gate >= FIRST_CHILD and "S8" not in p.children:
            freed: tuple[Child, ...] = tuple("waits" if c == "has the gate" else c for c in p.children)
            after = world._replace(gate=FREE, parent=p._replace(children=freed))
            yield Step(PARENT, "'s child's gate is taken over and released", after)
        else:
            back: At = "S1" if p.at in ("S5", "S6") else p.at
            yield Step(PARENT, "'s process is back", world._replace(parent=p._replace(alive=True, at=back)))

    def child(self, world: World, n: int) -> Iterator[Step[World]]:
        p, who = world.parent, FIRST_CHILD + n

        def to(text: str, after: Child, gate: int = world.gate, at: At = p.at) -> Step[World]:
            children = (*p.children[:n], after, *p.children[n + 1 :])
            return Step(who, text, world._replace(gate=gate, parent=p._replace(children=children, at=at)))

        match p.children[n]:
            case "waits" if p.alive and p.at == "children" and world.gate == FREE:
                yield to("takes the gate (S3)", "has the gate", who)
            case "has the gate" if p.alive and self.rules.patches and not p.mark:
                words = "finds its parent's reservation gone and releases the gate; the parent stands in line again"
                yield to(words, "waits", FREE, at="S1")
            case "has the gate" if p.alive:
                yield to("makes its parent's reservation last, and submits (S8)", "S8")
            case "S8":
                yield to("'s submit writes its finalizer, and the gate is released", "runs", FREE)
            case "late":
                yield to("'s late request writes its finalizer", "runs")
                yield to("'s late request is lost", "waits")
            case "runs":
                yield to("'s search ends", "ended")

    def wrong(self, world: World) -> Iterator[str]:
        running = sum(s.runs for s in world.searches) + ("runs" in world.parent.children)
        if running > self.ceiling:
            yield CEILING
        if sum(s.at == "S8" for s in world.searches) + world.parent.children.count("S8") > 1:
            yield OVERLAP

    def over(self, world: World) -> bool:
        """Everything has been submitted, or died; has ended; and nothing of ours is left."""
        ended = all(s.at in ("end", "dead") and not s.mark and not s.runs for s in world.searches)
        p = world.parent
        return ended and world.gate == FREE and not p.mark and all(c == "ended" for c in p.children)

    def explore(self, *until: str) -> Explored[World]:
        return explore(self.start, self.steps, self.wrong, until=frozenset(until), liveness=True)

    def tell(self, way: list[tuple[World, int, str]]) -> str:
        lines = []
        for n, (_, who, text) in enumerate(way, 1):
            name = "the parent" if who == PARENT else f"child {who - 99}" if who >= FIRST_CHILD else f"search {who}"
            lines.append(f"{n:2}. {name}{'' if text[0] == chr(39) else ' '}{text}.")
        return "\n".join(lines)
