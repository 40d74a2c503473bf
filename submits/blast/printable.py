"""Control characters out of names and titles: a page shows them as nothing, and XML and SVG are broken by one."""

from __future__ import annotations

# U+FFFE, U+FFFF and lone halves of surrogate pairs are no characters at all, and no XML may hold them either.
_BLANKS = dict.fromkeys([*range(0x09, 0x0E), *range(0x1C, 0x20), 0x85, 0x2028, 0x2029], " ")
_DROPPED: dict[int, None] = dict.fromkeys(
    code
    for code in [*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF]
    if code not in _BLANKS
)  # fmt: skip
_TABLE: dict[int, str | None] = {**_BLANKS, **_DROPPED}


def clean(text: str) -> str:
    """The text on one line, without control characters: tabs and line ends become spaces, the others go."""
    return text if text.isprintable() else text.translate(_TABLE)


def dropped(text: str) -> int:
    """How many characters `clean` takes out without putting a space in their place."""
    return 0 if text.isprintable() else len(text) - len(text.translate(_TABLE))
