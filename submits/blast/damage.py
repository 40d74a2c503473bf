"""Whether a database's files are whole: what its indexes say of the other files, against what is there.

BLAST+ itself looks at little of this before it searches: with a file that is cut short it ends by a signal, or goes on
and finds less, and listing a directory ends with the first damaged database in it. The layout of an index is
makeblastdb's, versions 4 and 5; that of a table of names is LMDB's.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

INDEXES, ALIASES = (".nin", ".pin"), (".nal", ".pal")
_TABLES = ("db", "tf")  # LMDB, of version 5: .pdb and .ptf beside .pin; those of the whole lie beside its first volume
_MAGIC, _META = 0xBEEFC0DE, 4096
_LONGEST = 100_000  # bytes of a title


class Cut(Exception):
    """A file ends before it is whole."""


class Files(Protocol):
    """Where a database lies. What is not there is a FileNotFoundError; what else fails is an OSError."""

    def open(self, path: str) -> BinaryIO: ...

    def size(self, path: str) -> int: ...


class Local:
    """The file system."""

    def open(self, path: str) -> BinaryIO:
        return open(path, "rb")

    def size(self, path: str) -> int:
        return os.path.getsize(path)


LOCAL = Local()


@dataclass(frozen=True, slots=True)
class Heading:
    """What the index of one volume says of it. `date` in BLAST's words; `headers` and `residues` are the bytes that are
    needed of its headers and its sequences, `table` is the file of its table of names, "" if it has none."""

    title: str
    table: str
    date: str
    sequences: int
    letters: int
    headers: int
    residues: int


def damage(volume: str, letter: str, files: Files = LOCAL) -> str:
    """What is wrong with the files of one volume (BLAST's name, without suffix); "" when nothing is.

    `letter` is the first of their endings: n for nucleotides, p for proteins. Raises OSError when a file could not be
    read this time, which says nothing against it.
    """
    index = f"{volume}.{letter}in"
    try:
        said = heading(index, files)
    except FileNotFoundError:
        return f"{_name(index)} is missing."
    except PermissionError:
        return f"{_name(index)} may not be read."
    except (IsADirectoryError, Cut, struct.error):
        return f"{_name(index)} is cut short or is no index."
    for ending, needed in (("hr", said.headers), ("sq", said.residues)):
        if why := _short(f"{volume}.{letter}{ending}", needed, files):
            return why
    if said.table and (why := _short(os.path.join(os.path.dirname(volume), said.table), 0, files)):
        return why
    return tables(volume, letter, files)


def tables(path: str, letter: str, files: Files = LOCAL) -> str:
    """What is wrong with the tables of names and species that lie beside a database, or its first volume; "" when
    nothing is, or there are none: not every database has them. Raises OSError as `damage` does."""
    return next(filter(None, (_table(f"{path}.{letter}{ending}", files) for ending in _TABLES)), "")


def broken(directory: Path, *, recursive: bool) -> dict[str, str]:
    """Every volume below a directory that is not whole, and every alias that leads to one, by its path without suffix,
    and what is wrong with it. An alias comes before its volumes. Raises OSError."""
    found: dict[str, str] = {}
    aliases: dict[str, list[str]] = {}
    for path in _files(directory, recursive):
        base, suffix = os.path.splitext(path)
        if suffix in ALIASES:
            aliases[base] = volumes_of(path)
            for volume in aliases[base]:
                if not any(os.path.exists(f"{volume}.{suffix[1]}{kind}") for kind in ("in", "al")):
                    found[volume] = f"{_name(volume)}.{suffix[1]}in is missing."
            continue
        if suffix in INDEXES:
            why = damage(base, suffix[1])
        elif suffix[2:] in _TABLES and suffix[1:2] in ("n", "p"):
            why = _table(path, LOCAL)
        else:
            continue
        if why:
            found.setdefault(base, why)
    known = -1
    while known < len(found):  # an alias may lead to another
        known = len(found)
        for base, volumes in aliases.items():
            if bad := next((volume for volume in volumes if volume in found), ""):
                found.setdefault(base, found[bad])
    return dict(sorted(found.items()))


def volumes_of(alias: str, files: Files = LOCAL) -> list[str]:
    """What an alias names, as paths beside it."""
    with files.open(alias) as file:
        lines = [line.decode("utf-8", "replace") for line in file]
    listed = [line.removeprefix("DBLIST").split() for line in lines if line.startswith("DBLIST")]
    return [os.path.join(os.path.dirname(alias), word.strip('"')) for words in listed for word in words]


def _files(directory: Path, recursive: bool) -> Iterator[str]:
    for root, below, names in os.walk(directory):
        below[:] = [name for name in below if recursive and not name.startswith(".")]
        yield from (os.path.join(root, name) for name in sorted(names))


def heading(index: str, files: Files = LOCAL) -> Heading:
    """Of an index, by its path. What is needed of the other files are the last numbers of its two, or three, lists.
    Raises OSError, Cut and struct.error."""
    with files.open(index) as file:
        (version,) = _read(file, ">i")
        if version not in (4, 5):
            raise Cut
        _read(file, ">i" if version == 4 else ">ii")  # molecule; number of the volume
        texts = []
        for _ in range(2 if version == 4 else 3):  # title; name of the table; date
            (length,) = _read(file, ">i")
            if not 0 <= length <= _LONGEST:
                raise Cut
            texts.append(file.read(length))
        (many,) = _read(file, ">i")
        (letters,) = _read(file, "<q")  # the one number that is the other way round
        _read(file, ">i")  # letters of the longest
        start, size = file.tell(), 4 * (many + 1)
        if many < 0 or files.size(index) < start + size * (2 if index.endswith(".pin") else 3):
            raise Cut
        last: list[int] = []
        for listed in (1, 2):
            file.seek(start + size * listed - 4)
            last += _read(file, ">I")
        title, *named, date = (text.decode("utf-8", "replace").strip("\0") for text in texts)
        return Heading(title, named[0] if named else "", date, many, letters, last[0], last[1])


def _read(file: BinaryIO, shape: str) -> tuple[int, ...]:
    return struct.unpack(shape, file.read(struct.calcsize(shape)))


def _table(path: str, files: Files) -> str:
    """What is wrong with one table, an LMDB file; "" also when there is none."""
    try:
        with files.open(path) as file:
            pages = [_last_page(file, at) for at in (0, _META)]
    except FileNotFoundError:
        return ""
    except PermissionError:
        return f"{_name(path)} may not be read."
    except (IsADirectoryError, Cut, struct.error):
        return f"{_name(path)} is cut short or is no table of names."
    _, page, size = max(pages)
    return _short(path, (page + 1) * size, files)


def _last_page(file: BinaryIO, at: int) -> tuple[int, int, int]:
    """Of one of the two descriptions of an LMDB file: how recent it is, its last page, and the size of a page."""
    file.seek(at + 16)
    magic, _ = _read(file, "<II")
    file.seek(at + 40)
    (size,) = _read(file, "<I")
    file.seek(at + 136)
    page, recent = _read(file, "<QQ")
    if magic != _MAGIC:
        raise Cut
    return recent, page, size


def _short(path: str, needed: int, files: Files) -> str:
    try:
        held = files.size(path)
    except FileNotFoundError:
        return f"{_name(path)} is missing."
    return "" if held >= needed else f"{_name(path)} has {held:,} bytes, and {needed:,} are needed."


def _name(path: str) -> str:
    return os.path.basename(path)
