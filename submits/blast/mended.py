"""What a reader took out of sequences, names and titles, and how that is said: nothing is dropped in silence."""

from __future__ import annotations

from dataclasses import dataclass

from submits.blast.encoding import LONGEST_TITLE


@dataclass(slots=True)
class Mended:
    """What was taken out of records: how many characters, of how many records, and which was the first."""

    characters: int = 0
    records: int = 0
    first: str = ""

    def add(self, characters: int, record: str) -> None:
        self.characters += characters
        self.records += 1
        self.first = self.first or record

    @property
    def where(self) -> str:
        return self.first + (f" and {self.records - 1:,} more" if self.records > 1 else "")


def gap_notice(gaps: Mended) -> str:
    if not gaps.records:
        return ""
    return (
        f"{gaps.characters} gap characters (- or .) were taken out of {gaps.where}: positions are counted without them."
    )


def dropped_notice(dropped: Mended) -> str:
    if not dropped.records:
        return ""
    many = dropped.characters
    what = "One control character was" if many == 1 else f"{many:,} control characters were"
    return f"{what} taken out of {dropped.where}."


def line_end_notice(ends: Mended) -> str:
    if not ends.records:
        return ""
    return (
        f"There is a line end of another kind in {ends.where}, and what follows it belongs to the title. "
        "If that is sequence, put it on a line of its own."
    )


def cut_notice(cut: Mended) -> str:
    return f"Of {cut.where} only the first {LONGEST_TITLE:,} characters were taken." if cut.records else ""
