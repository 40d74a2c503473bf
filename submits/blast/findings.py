"""What is wrong with an input, said so that its author can mend it."""

from __future__ import annotations

from dataclasses import dataclass

# One page of findings is enough to start mending; a 50 MB file of nonsense must not make a million of them.
MOST = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: the form field it belongs to, a sentence, and the line (from 1) if there is one."""

    field: str
    sentence: str
    line: int | None = None


class Findings(tuple[Finding, ...]):
    """A non-empty tuple of findings: what a reader returns instead of the thing that was asked for."""

    __slots__ = ()

    def by_field(self) -> dict[str, list[Finding]]:
        """The findings of each field, in the order in which they were found."""
        fields: dict[str, list[Finding]] = {}
        for finding in self:
            fields.setdefault(finding.field, []).append(finding)
        return fields


def excerpt(text: str, most: int = 24) -> str:
    """A piece of the user's own text, short and on one line, to be quoted in a sentence."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
