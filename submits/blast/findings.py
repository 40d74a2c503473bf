"""What is wrong with an input, said so that its author can mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

# One page of findings is enough to start mending; a 50 MB file of nonsense must not make a million of them.
MOST = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: the form field it belongs to, a sentence, and the line (from 1) if there is one."""

    field: str
    sentence: str
    line: int | None = None

    def __str__(self) -> str:
        """The sentence with its line, for where there is room for text alone; the sentence itself never names it."""
        return f"Line {self.line}: {self.sentence}" if self.line else self.sentence


class Findings(tuple[Finding, ...]):
    """A non-empty tuple of findings: what a reader returns instead of the thing that was asked for."""

    __slots__ = ()

    def by_field(self) -> dict[str, list[Finding]]:
        """The findings of each field, in the order in which they were found."""
        fields: dict[str, list[Finding]] = {}
        for finding in self:
            fields.setdefault(finding.field, []).append(finding)
        return fields


def first_of_each(findings: Iterable[Finding]) -> Findings:
    """At most MOST of a field, so that many in one hide none in another. There must be one at least."""
    seen: Counter[str] = Counter()
    kept = []
    for finding in findings:
        seen[finding.field] += 1
        if seen[finding.field] <= MOST:
            kept.append(finding)
    return Findings(kept)


def excerpt(text: str, most: int = 24) -> str:
    """A piece of the user's own text, short and on one line, to be quoted; what is invisible is shown as “\ufffd”."""
    flat = " ".join(text.split(maxsplit=most))  # that many words are longer, and a long text has millions
    short = flat if len(flat) <= most else flat[: most - 1] + "…"
    return "".join(char if char.isprintable() else "\ufffd" for char in short)
