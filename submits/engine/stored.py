"""Databases in an object store: what their indexes say of them, and fetching one into a Pod.

The rest of an address below its bucket is the key of a file; BLAST's name of a database is its address without suffix.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from submits.blast import damage
from submits.blast.databases import DatabaseError, iso, key_of
from submits.blast.facts import DatabaseFacts, is_stored
from submits.blast.printable import clean
from submits.blast.report import Report
from submits.engine.errors import EngineError, Exit
from submits.work import Info, Missing, WorkError, WorkStore

PIECE = 8 << 20  # bytes held at a time of a file that is fetched


@lru_cache(maxsize=4)
def _store(url: str) -> WorkStore:
    """A client is expensive to make, and may be used again."""
    return WorkStore(url)


class Bucket:
    """See `damage.Files`: the files below a prefix, by their keys, as they were listed once."""

    def __init__(self, place: str) -> None:
        """Raises WorkError for an address that is none; OSError when the store does not answer."""
        scheme, _, rest = place.partition("://")
        bucket, _, self.prefix = rest.strip("/").partition("/")
        if not self.prefix:
            raise WorkError(f"{place} names no prefix: give {scheme}://BUCKET/PREFIX")
        self.url = f"{scheme}://{bucket}"
        self.store = _store(self.url)
        self.infos: dict[str, Info] = {}

    def listed(self, prefix: str) -> Bucket:
        self.infos = {info.key: info for info in self.store.listing(prefix)}
        return self

    def open(self, path: str) -> BinaryIO:
        try:
            return self.store.open(path)
        except Missing as error:
            raise FileNotFoundError(path) from error

    def size(self, path: str) -> int:
        if path not in self.infos:
            raise FileNotFoundError(path)
        return self.infos[path].size

    def files_of(self, base: str) -> list[str]:
        """The keys of one database's files, those of all its volumes included."""
        found: set[str] = set()
        bases = [base]
        while bases:
            start = f"{bases.pop()}."
            own = {key for key in self.infos if key.startswith(start)} - found
            found |= own
            bases += [volume for key in own if key.endswith(damage.ALIASES) for volume in damage.volumes_of(key, self)]
        return sorted(found)

    def mark(self, keys: list[str]) -> str:
        lines = (f"{key} {self.infos[key].size} {self.infos[key].mark}" for key in keys)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def survey(place: str, before: Report) -> Report:
    """Looks at a prefix again. Of a database whose files are as they were nothing is read. Raises DatabaseError."""
    try:
        bucket = Bucket(place)
        mark = bucket.listed(bucket.prefix).mark(sorted(bucket.infos))
        if (before.place, before.mark) == (place, mark):
            return replace(before, trouble="")
        return _looked(place, bucket, before if before.place == place else Report(place), mark)
    except (WorkError, OSError) as error:
        raise DatabaseError(f"{place} cannot be read: {str(error).removeprefix('COORDUI_WORK_URL: ')}.") from error


def _looked(place: str, bucket: Bucket, before: Report, whole: str) -> Report:
    known = {facts.path: facts for facts in before.found}
    found, damaged, marks = [], {}, {}
    for base, letter in _bases(bucket):
        path = f"{bucket.url}/{base}"
        mark = bucket.mark(bucket.files_of(base))
        if path in known and before.marks.get(path) == mark:
            found.append(known[path])
        else:
            facts = _facts(bucket, base, letter)
            if isinstance(facts, str):
                damaged[path] = facts
                continue
            found.append(facts)
        marks[path] = mark
    return Report(place, tuple(found), damaged, marks, "" if damaged else whole)


def _bases(bucket: Bucket) -> Iterator[tuple[str, str]]:
    """Every database by its key without suffix, and the letter of its molecule: volumes of one are no database."""
    volumes: set[str] = set()
    bases: dict[str, str] = {}
    for key in bucket.infos:
        base, suffix = os.path.splitext(key)
        if suffix in damage.ALIASES:
            volumes.update(damage.volumes_of(key, bucket))
        if suffix in (*damage.ALIASES, *damage.INDEXES, ".nsq", ".psq"):  # the last two: of one without its index
            bases[base] = suffix[1]
    yield from ((base, letter) for base, letter in sorted(bases.items()) if base not in volumes)


def _facts(bucket: Bucket, base: str, letter: str) -> DatabaseFacts | str:
    """What is known of one, or what is wrong with it."""
    said: list[damage.Heading] = []
    for volume in _volumes(bucket, base, letter):
        if why := damage.damage(volume, letter, bucket):
            return why
        try:
            said.append(damage.heading(f"{volume}.{letter}in", bucket))
        except (damage.Cut, struct.error):
            return f"{os.path.basename(volume)}.{letter}in is no index."
    if why := damage.tables(base, letter, bucket):
        return why
    alias = f"{base}.{letter}al"
    title = _title(bucket, alias) if alias in bucket.infos else said[0].title
    profiles = any(f"{base}{volume}.rps" in bucket.infos for volume in ("", ".00"))
    return DatabaseFacts(
        key=key_of(base.removeprefix(f"{bucket.prefix}/").replace("/", "-")),
        title=clean(title),
        path=f"{bucket.url}/{base}",
        molecule="rps" if profiles else "nucl" if letter == "n" else "prot",
        sequences=sum(each.sequences for each in said),
        letters=sum(each.letters for each in said),
        formatted=max(iso(each.date) for each in said),
    )


def _volumes(bucket: Bucket, base: str, letter: str) -> list[str]:
    """Those that hold sequences, through all aliases; an alias that leads to itself leads nowhere."""
    found: list[str] = []
    seen: set[str] = set()
    bases = [base]
    while bases:
        at = bases.pop(0)
        if at in seen:
            continue
        seen.add(at)
        alias = f"{at}.{letter}al"
        if alias in bucket.infos:
            bases += damage.volumes_of(alias, bucket)
        else:
            found.append(at)
    return found or [base]


def _title(bucket: Bucket, alias: str) -> str:
    with bucket.open(alias) as file:
        for line in file:
            if line.startswith(b"TITLE"):
                return line.removeprefix(b"TITLE").decode("utf-8", "replace").strip()
    return os.path.basename(os.path.splitext(alias)[0])


def fetch(facts: DatabaseFacts, to: Path | None) -> DatabaseFacts:
    """The database as this Pod's programs find it: fetched whole into the directory `to`, if it is in an object store.

    It is then named without a directory, and BLASTDB says where it is: an archive holds the name, and whoever formats
    it has fetched the database to somewhere else. At most 8 MiB of a file are held. Raises EngineError with a sentence,
    also when it is another than it was when the search was prepared: not all batches would have searched the same.
    """
    if to is None or not is_stored(facts.path):
        return facts
    try:
        bucket = Bucket(facts.path)
        beside, _, name = bucket.prefix.rpartition("/")
        if not beside:
            bucket.infos = {}
        else:
            bucket.listed(beside)
        keys = bucket.files_of(bucket.prefix)
        if not keys:
            raise EngineError(Exit.DEPENDENCY, f"there is no {facts.path}")
        for key in [*keys, *(key for key in bucket.infos if key.startswith(f"{beside}/taxdb."))]:
            _bring(bucket, key, to / os.path.relpath(key, beside))
        letter = "n" if facts.molecule == "nucl" else "p"
        volumes = [to / os.path.relpath(volume, beside) for volume in _volumes(bucket, bucket.prefix, letter)]
        said = [damage.heading(f"{volume}.{letter}in") for volume in volumes]
    except (WorkError, OSError, damage.Cut, struct.error) as error:
        raise EngineError(Exit.DEPENDENCY, f"the database {facts.path} cannot be fetched: {error}") from error
    if (sum(each.sequences for each in said), sum(each.letters for each in said)) != (facts.sequences, facts.letters):
        raise EngineError(Exit.DEPENDENCY, f"{facts.path} was replaced since this search was prepared")
    os.environ["BLASTDB"] = str(to)
    return replace(facts, path=name)


def _bring(bucket: Bucket, key: str, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with bucket.store.open(key) as source, out.open("wb") as file:
        shutil.copyfileobj(source, file, PIECE)
    if (held := out.stat().st_size) != bucket.size(key):
        raise OSError(f"{key} has {held:,} bytes, and {bucket.size(key):,} were listed: it was replaced meanwhile")
