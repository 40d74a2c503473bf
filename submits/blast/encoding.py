"""Bytes to text: what an editor, a word processor or a browser may have made of a sequence file."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from submits.blast.findings import Finding

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY = (
    (b"\x1f\x8b", "a gzip-compressed file", "Unpack it first (gunzip)."),
    (b"BZh", "a bzip2-compressed file", "Unpack it first (bunzip2)."),
    (b"\xfd7zXZ\x00", "an xz-compressed file", "Unpack it first (unxz)."),
    (b"PK\x03\x04", "a zip archive or an office document", "Unpack it, or save it as plain text, first."),
    (b"\xd0\xcf\x11\xe0", "an office document", "Save it as plain text first."),
    (b"{\\rtf", "a rich-text document", "Save it as plain text first."),
    (b"%PDF", "a PDF", "Copy the sequences out of it as text."),
    (b"BAM\x01", "a BAM file", "Convert it to FASTA first (samtools fasta)."),
)


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    notice: str = ""


def decode(data: bytes | str) -> Text | Finding:
    """The text of `data`, a file or what was pasted.

    Bytes are read by their byte-order mark, else as UTF-8, else as Latin-1 (with a notice).
    Guarantee: never raises; compressed files and documents are named instead of read, and no text holds a NUL.
    """
    read = _decode(data) if isinstance(data, bytes) else Text(data)
    if isinstance(read, Text) and "\0" in read.text:
        return Finding("query", "This is not a text file (it holds zero bytes). Save the sequences as plain text.")
    return read


def _decode(data: bytes) -> Text | Finding:
    for magic, what, advice in _BINARY:
        if data.startswith(magic):
            return Finding("query", f"This is {what}, not sequences as text. {advice}")
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return Text(data[len(bom) :].decode(encoding))
            except UnicodeDecodeError as error:
                name = encoding.removesuffix("-le").removesuffix("-be").upper()
                return Finding(
                    "query",
                    f"The file says it is {name} but is broken at byte {error.start + len(bom)}. Save it as UTF-8.",
                )
    try:
        return Text(data.decode("utf-8"))
    except UnicodeDecodeError:
        return Text(data.decode("latin-1"), "The text is not UTF-8; its titles were read as Latin-1.")
