"""What one look at a place of databases has found, and the next look, which asks only of what is not as it was."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from submits.blast import damage
from submits.blast.databases import DatabaseError, scan
from submits.blast.facts import DatabaseFacts


@dataclass(frozen=True, slots=True)
class Report:
    """`found` are whole; `damaged` says by path (BLAST's name) what is wrong with those that are not.

    `marks` holds by path a digest of what the files of a whole one were (names, sizes, times), `mark` one of all files
    of the place. `trouble` says why the place could not be looked at; the rest is then of the last look that could.
    """

    place: str = ""
    found: tuple[DatabaseFacts, ...] = ()
    damaged: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    mark: str = ""
    trouble: str = ""

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(data: bytes) -> Report:
        """The report that `to_json` wrote; raises ValueError, KeyError or TypeError for anything else."""
        read = json.loads(data)
        return Report(**{**read, "found": tuple(DatabaseFacts(**facts) for facts in read["found"])})


def survey(directory: Path, before: Report) -> Report:
    """Looks at a directory again. `before`: what the last look found, there or anywhere else.

    While no file of the directory is another no program is run; else BLAST lists it, and is asked of those databases
    alone whose files are others than they were. Raises DatabaseError when the directory cannot be looked at.
    """
    if not directory.is_dir():
        raise DatabaseError(f"There is no directory {directory}.")
    try:
        # Before BLAST reads them: what is changed meanwhile is then another at the next look.
        files = _files(directory, before)
        mark = _digest(files, files)
        if (before.place, before.mark) == (str(directory), mark):
            return replace(before, trouble="")
        return _asked(directory, files, mark, before)
    except OSError as error:
        raise DatabaseError(f"{directory} cannot be read: {error.strerror or error}.") from error


def _asked(directory: Path, files: Mapping[str, str], mark: str, before: Report) -> Report:
    facts_of = {facts.path: facts for facts in before.found} if before.place == str(directory) else {}

    def known(path: str) -> DatabaseFacts | None:
        return facts_of.get(path) if before.marks.get(path) == mark_of(path, files) else None

    damaged: dict[str, str] = {}
    found = tuple(scan(directory, damaged.__setitem__, known))
    answered = [facts for facts in found if facts.taxonomy is not None]  # the others are asked again
    marks = {facts.path: own for facts in answered if (own := mark_of(facts.path, files))}
    # What is damaged is asked again too: whoever mends it need not have changed a file.
    return Report(str(directory), found, damaged, marks, mark if len(marks) == len(found) and not damaged else "")


def mark_of(path: str, files: Mapping[str, str]) -> str:
    """Of the files of one database and of all to which its aliases lead; "" if none of them is among `files`."""
    names: set[str] = set()
    bases = [path]
    while bases:
        base = bases.pop()
        own = {name for name in files if name.startswith(f"{base}.")} - names
        names |= own
        for name in own:
            if name.endswith(damage.ALIASES):
                bases += damage.volumes_of(name)
    return _digest(sorted(names), files) if names else ""


def _digest(names: Iterable[str], files: Mapping[str, str]) -> str:
    return hashlib.sha256("\n".join(f"{name}\t{files[name]}" for name in names).encode("utf-8", "replace")).hexdigest()


def _files(directory: Path, before: Report) -> dict[str, str]:
    """By path, what changes when a file does. Links are followed, as BLAST follows them, but for those that lead back.

    Raises OSError for a folder that cannot be read. One that may not be, as lost+found, is passed over, unless the last
    look found a database in it.
    """

    def unread(error: OSError) -> None:
        if not isinstance(error, PermissionError) or any(
            Path(facts.path).is_relative_to(error.filename) for facts in before.found
        ):
            raise error

    found: dict[str, str] = {}
    for root, below, names in os.walk(directory.absolute(), followlinks=True, onerror=unread):
        if os.path.islink(root) and os.path.realpath(root) in map(os.path.realpath, Path(root).parents):
            below.clear()
            continue
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(root, name)
            try:
                stat = os.stat(path)
            except FileNotFoundError:  # taken away since, or a link that leads nowhere
                continue
            found[path] = f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"
    return found
