"""One small change to the source, as data, and the tests that must fail because of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class Stale(Exception):
    """The old text is not in the file exactly once: the code has changed, and the table must be looked at."""


@dataclass(frozen=True)
class Mutation:
    """`old`, which stands exactly once in `file`, becomes `new`; one of `tests` (pytest's arguments) must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def changed(self, root: Path) -> str:
        """The file's text with the mutation in it. Raises Stale."""
        text = (root / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise Stale(f"{self.name}: {self.old!r} is {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)
