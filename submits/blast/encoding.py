"""Bytes to text: what an editor, a word processor or a browser may have made of a sequence file, piece by piece."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from submits.blast.findings import Finding

# Text that lies somewhere and can be read more than once; a file is read from its beginning each time.
Source = str | bytes | BinaryIO
PIECE = 1 << 18  # bytes or characters that are held at a time
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY: tuple[tuple[bytes | tuple[bytes, ...], str, str], ...] = (
    (b"\x1f\x8b", "a gzip-compressed file", "Unpack it first (gunzip)."),
    (tuple(b"BZh%d" % level for level in range(1, 10)), "a bzip2-compressed file", "Unpack it first (bunzip2)."),
    (b"\xfd7zXZ\x00", "an xz-compressed file", "Unpack it first (unxz)."),
    (b"PK\x03\x04", "a zip archive or an office document", "Unpack it, or save it as plain text, first."),
    (b"\xd0\xcf\x11\xe0", "an office document", "Save it as plain text first."),
    (b"{\\rtf", "a rich-text document", "Save it as plain text first."),
    (b"%PDF", "a PDF", "Copy the sequences out of it as text."),
    (b"BAM\x01", "a BAM file", "Convert it to FASTA first (samtools fasta)."),
)
LONGEST_TITLE = 1_000  # characters behind a ">"
CUT = "…"  # stands behind what is held of a title, for all the rest
# Lines of a sequence: nothing, or letters with what may stand between them and a number before or after them. Lines
# that say nothing: nothing, a comment, or what ends a GenBank record. Any other line. Python looks at each block, so
# what there may be any number of must come many lines at a time.
_BLANK = r"[ \t\f\v]"
_LETTERS = rf"(?:[0-9]++{_BLANK}++)?+[A-Za-z*.-][A-Za-z*. \t\f\v-]*+(?:(?<={_BLANK})[0-9]++{_BLANK}*+)?+"
_NOTHING = rf";[^\n]*+|//{_BLANK}*+"
_BLOCK = re.compile(rf"((?:{_BLANK}*+(?:{_LETTERS})?+\n)++)|((?:{_BLANK}*+(?:{_NOTHING})?+\n)++)|[^\n]*+\n|[^\n]++")
_BEFORE_TITLE = re.compile(r"[\s\u200b\u200e\u2060\ufeff]*+")
_ZEROS = Finding("query", "This is not a text file (it holds zero bytes). Save the sequences as plain text.")


class Broken(ValueError):
    """Bytes that are not of the encoding that they are read by, from byte `place` on, counted from 0."""

    def __init__(self, place: int) -> None:
        super().__init__(f"broken at byte {place}")
        self.place = place


class LineTooLong(ValueError):
    """Line `number`, counted from 1, goes on and on."""

    def __init__(self, number: int) -> None:
        super().__init__(f"line {number} is too long")
        self.number = number


@dataclass(frozen=True, slots=True)
class Text:
    """A source that reads as text. `encoding` is "" for one that is text already, `mark` the bytes of its byte-order
    mark, and `most` those after which it is left, with what is not a whole character; None: at its end."""

    source: Source
    encoding: str = ""
    mark: int = 0
    notice: str = ""
    most: int | None = None

    def pieces(self) -> Iterator[str]:
        """Its characters in order, line ends as they are. Raises Broken."""
        if isinstance(self.source, str):
            yield from (self.source[at : at + PIECE] for at in range(0, len(self.source), PIECE))
            return
        file = opened(self.source)
        file.seek(self.mark)
        decoder = codecs.getincrementaldecoder(self.encoding)()
        read = self.mark
        while True:
            data = file.read(PIECE if self.most is None else min(PIECE, max(0, self.most - read)))
            before = read - len(decoder.getstate()[0])
            try:
                piece = decoder.decode(data, final=not data and self.most is None)
            except UnicodeDecodeError as error:
                raise Broken(before + error.start) from None
            yield piece
            if not data:
                return
            read += len(data)

    def blocks(self, longest: int | None = None) -> Iterator[tuple[int, str]]:
        """Its lines, whichever of the three ends they have, each with its number from 1.

        Lines of a sequence come together, as many as follow each other, each with "\n" behind it; lines that say
        nothing are passed over between them; any other line comes alone and without its end. Of a line that begins
        with ">" what lies far beyond LONGEST_TITLE is not held, and CUT stands for it. Raises LineTooLong once more
        than `longest` characters of one line are held.
        """
        number = 1
        for whole in self._whole_lines(longest):
            for found in _BLOCK.finditer(whole):
                block = found[0]
                if found.lastindex is None:
                    yield number, block.removesuffix("\n")
                    number += 1
                    continue
                if found.lastindex == 1:
                    yield number, block
                number += block.count("\n")

    def _whole_lines(self, longest: int | None) -> Iterator[str]:
        """The text cut behind line ends, which are all "\n"."""
        ends = io.IncrementalNewlineDecoder(None, translate=True)
        begun: list[str] = []
        length = number = 0
        for piece in self.pieces():
            text = ends.decode(piece)
            if _held_enough(begun):
                rest = text.partition("\n")[0]
                if rest.strip() and begun[-1] != CUT:
                    begun.append(CUT)
                text = text[len(rest) :]
            cut = text.rfind("\n") + 1
            length += text.index("\n") if cut else len(text)
            if longest is not None and length > longest:
                raise LineTooLong(number + 1)
            if cut:
                yield "".join((*begun, text[:cut]))
                number += text.count("\n")
                begun, length = [], len(text) - cut
            if text[cut:]:
                begun.append(text[cut:])
        yield "".join((*begun, ends.decode("", final=True)))


def _held_enough(begun: list[str]) -> bool:
    """Whether a line that has begun is a title of which no more need be held. Its beginning is put together until it
    tells."""
    if not begun:
        return False
    before = _BEFORE_TITLE.match(begun[0])
    while before and before.end() == len(begun[0]) and len(begun) > 1:
        begun[:2] = [begun[0] + begun[1]]
        before = _BEFORE_TITLE.match(begun[0])
    at = before.end() if before else 0
    return begun[0].startswith(">", at) and sum(map(len, begun)) - at - 1 > LONGEST_TITLE


def opened(data: bytes | BinaryIO) -> BinaryIO:
    return io.BytesIO(data) if isinstance(data, bytes) else data


def size(source: Source) -> int:
    """In bytes."""
    if isinstance(source, str):
        return len(source) if source.isascii() else len(source.encode("utf-8", "surrogatepass"))
    return len(source) if isinstance(source, bytes) else source.seek(0, io.SEEK_END)


def decode(source: Source, most: int | None = None) -> Text | Finding:
    """How `source`, a file or what was pasted, reads as text; of a file no more than `most` bytes.

    Bytes are read by their byte-order mark, else as UTF-8, else as Latin-1 (with a notice).
    Guarantee: never raises; compressed files and documents are named instead of read, and no text holds a NUL. All
    that is to be read is looked at, so that reading the Text that comes back does not fail. What was pasted is found
    to be what the same in a file is found to be.
    """
    if isinstance(source, str):
        return _document(source[:8].encode("utf-8", "replace")) or (_ZEROS if "\0" in source else Text(source))
    file = opened(source)
    file.seek(0)
    head = file.read(8)
    if document := _document(head):
        return document
    mark, encoding = next(((mark, encoding) for mark, encoding in _BOMS if head.startswith(mark)), (b"", "utf-8"))
    text = Text(source, encoding, len(mark), most=most)
    try:
        zeros = any("\0" in piece for piece in text.pieces())
    except Broken as error:
        if mark:
            name = encoding.removesuffix("-le").removesuffix("-be").upper()
            return Finding(
                "query", f"The file says it is {name} but is broken at byte {error.place}. Save it as UTF-8."
            )
        text = replace(text, encoding="latin-1", notice="The text is not UTF-8; its titles were read as Latin-1.")
        zeros = any("\0" in piece for piece in text.pieces())
    return _ZEROS if zeros else text


def _document(head: bytes) -> Finding | None:
    for magic, what, advice in _BINARY:
        if head.startswith(magic):
            return Finding("query", f"This is {what}, not sequences as text. {advice}")
    return None


def beginning(source: Source, most: int) -> Source:
    """The records that begin and end within the first `most` bytes, or the one that does not; the source itself if it
    is no longer than that, or no text."""
    if size(source) <= most:
        return source
    text = Text(source[:most]) if isinstance(source, str) else decode(source, most)
    if isinstance(text, Finding):
        return source
    read = io.IncrementalNewlineDecoder(None, translate=True).decode("".join(text.pieces()), final=True)
    whole = read.rfind("\n>") + 1
    return read[:whole] if whole else read.rstrip("0123456789 \t")  # a number's letters may have been left out
