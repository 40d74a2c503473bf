"""Registered databases: what BLAST+ says of them, and making one from a FASTA file."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from submits.blast import damage, fasta
from submits.blast.facts import DatabaseFacts, argument
from submits.blast.findings import Findings, excerpt
from submits.blast.molecule import Kind, Molecule, detect
from submits.blast.printable import clean

INSPECT_SECONDS = 60.0
FORMAT_SECONDS = 3600.0
_KEY = re.compile(r"[^a-z0-9._-]+")
_KINDS: dict[str, Molecule] = {"Nucleotide": "nucl", "Protein": "prot"}
_INDEXES = (".nin", ".pin", ".nal", ".pal")
_LIST = "%f\t%p\t%l\t%n\t%d\t%t"


class DatabaseError(Exception):
    """A database that cannot be read or made, in a sentence."""


def key_of(path: str | Path) -> str:
    """The key a database gets from its file name: lower case, letters, digits, dots and dashes."""
    return _KEY.sub("-", Path(path).name.lower()).strip("-.") or "database"


def present(path: str | Path) -> bool:
    """Whether there are files of the database `path`. Says nothing of whether they are whole."""
    return any(os.path.exists(f"{path}{suffix}") for suffix in _INDEXES)


def inspect(path: str | Path) -> DatabaseFacts:
    """What is known of the database `path` (BLAST's name, without suffix); raises DatabaseError."""
    path = Path(path).absolute()
    for facts in _list(path.parent, recursive=False):
        if facts.path == str(path):
            if damaged := _damage(facts):
                raise DatabaseError(f"“{path.name}” is damaged or half copied: {damaged}")
            return replace(facts, taxonomy=_taxonomy(facts))
    if why := damage.broken(path.parent, recursive=False).get(str(path)):
        raise DatabaseError(f"“{path.name}” is damaged or half copied: {why}")
    done = _run(["blastdbcmd", "-db", argument(str(path)), "-info"], INSPECT_SECONDS)
    raise DatabaseError(f"“{path.name}” cannot be read as a BLAST database: {_last_words(done) or 'it is incomplete.'}")


def unsaid(*notice: str) -> None:
    """For who does not want to hear of what was mended, or left out."""


def unknown(path: str) -> DatabaseFacts | None:
    """For who remembers nothing of an earlier look."""
    return None


def scan(
    directory: str | Path,
    say: Callable[[str, str], None] = unsaid,
    known: Callable[[str], DatabaseFacts | None] = unknown,
) -> list[DatabaseFacts]:
    """Every whole database below a directory, volumes of one counted as one. Damaged ones are left out; `say` is told
    the path of each and what is wrong with it. What is `known` of a path and still true is not asked of BLAST again.

    A key is made from the path below the directory, so it stays the same from scan to scan. Two may have the same
    one (sub/a and sub-a): they are known by their paths, and whoever registers them makes the keys different. A
    directory whose name begins with a dot is left out: a database may just be made in it. `taxonomy` is None of one
    for which BLAST did not answer. Raises DatabaseError; OSError when a file could not be read this time.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise DatabaseError(f"There is no directory {directory}.")
    found: list[DatabaseFacts] = []
    damaged: dict[str, str] = {}
    for facts in _list(directory.absolute(), recursive=True):
        if any(part.startswith(".") for part in Path(facts.path).relative_to(directory.absolute()).parts[:-1]):
            continue
        if before := known(facts.path):
            found.append(before)
            continue
        try:
            why, taxonomy = _damage(facts), _taxonomy(facts)
        except DatabaseError:  # that BLAST did not answer says nothing against it, nor of the others
            why, taxonomy = "", None
        if why:
            damaged[facts.path] = why
        else:
            key = key_of(os.path.relpath(facts.path, directory.absolute()).replace(os.sep, "-"))
            found.append(replace(facts, key=key, taxonomy=taxonomy))
    whole = {facts.path for facts in found}
    for path, why in damage.broken(directory.absolute(), recursive=True).items():
        if path not in whole and os.path.splitext(path)[0] not in damaged:  # of which it would be a volume
            damaged.setdefault(path, why)
    for path, why in damaged.items():
        say(path, why)
    return sorted(found, key=lambda facts: (facts.key, facts.path))


def format_fasta(source: Path, out: Path, title: str = "", *, say: Callable[[str], None] = unsaid) -> DatabaseFacts:
    """Makes the database `out` from a FASTA file and returns its facts; raises DatabaseError with a clear sentence.

    Sequence names are indexed where they are fit for it. What is made appears under its name only when it is whole.
    `say` is told what was mended, and of names that several sequences share.
    """
    records = _sequences(source)
    kind = _kind(source, records)
    if '"' in str(out.absolute()):
        raise DatabaseError(f"{out} holds a quotation mark, which BLAST cannot have in a path.")
    if " " in out.name:
        raise DatabaseError(f"“{out.name}” has a space in it, which makeblastdb cannot have in a database's name.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=out.parent) as made:
        Path(made, "source.fa").write_bytes(_plain(records))
        target = Path(made, "db")
        target.mkdir()
        # Relative names: makeblastdb refuses a path with a space in it, quoted or not.
        command = [
            "makeblastdb", "-in", "../source.fa", "-dbtype", kind, "-title", _ascii(clean(title)) or out.name,
            "-out", out.name, "-blastdb_version", "5",
        ]  # fmt: skip
        done = _run([*command, "-parse_seqids"], FORMAT_SECONDS, target)
        if done.returncode != 0:
            for leftover in target.iterdir():
                leftover.unlink()
            done = _run(command, FORMAT_SECONDS, target)
        if done.returncode != 0:
            raise DatabaseError(f"makeblastdb could not format {source.name}: {_last_words(done)}")
        # The index goes last: without it BLAST sees no database, so nobody meets half of one.
        for file in sorted(target.iterdir(), key=lambda file: file.suffix in _INDEXES):
            os.replace(file, out.parent / file.name)
    for notice in [*records.notices, *_repeated(records)]:
        say(notice)
    return inspect(out)


def _sequences(source: Path) -> fasta.Records:
    try:
        data = source.read_bytes()
    except OSError as error:
        raise DatabaseError(f"{source} cannot be read: {error.strerror}.") from error
    records = fasta.read(data)
    if not isinstance(records, Findings):
        return records
    if records[0] == fasta.NOTHING:
        raise DatabaseError(f"{source.name} holds no sequence; a database is made from at least one, in FASTA.")
    where = f"line {records[0].line}: " if records[0].line else ""
    raise DatabaseError(f"{source.name}, {where}{records[0].sentence}")


def _kind(source: Path, records: fasta.Records) -> Molecule:
    kinds = {kind for query in records.queries if (kind := detect(query.sequence))}
    if len(kinds) != 1:
        what = "holds nucleotides and proteins together" if kinds else "is too short to tell nucleotides from proteins"
        raise DatabaseError(f"{source.name} {what}; a database is of one kind.")
    return kinds.pop()


def _repeated(records: fasta.Records) -> list[str]:
    """BLAST knows a subject by its name alone: of those that share one, hits cannot always be told apart."""
    repeated = {
        name: many for name, many in Counter(_ascii(query.name) for query in records.queries).items() if many > 1
    }
    if not repeated:
        return []
    names = "One name is" if len(repeated) == 1 else f"{len(repeated):,} names are"
    return [
        f"{names} shared by {sum(repeated.values()):,} sequences (“{excerpt(next(iter(repeated)), 30)}”): "
        "their hits cannot always be told apart. Give each sequence a name of its own."
    ]


def _plain(records: fasta.Records) -> bytes:
    lines = []
    for query in records.queries:
        lines.append(f">{query.name} {query.title}".rstrip())
        lines += [query.sequence[at : at + 70] for at in range(0, len(query.sequence), 70)]
    return _ascii("\n".join(lines) + "\n").encode("ascii")


def _ascii(text: str) -> str:
    """makeblastdb drops or damages anything else in a title, and XML output dies of it."""
    return text.encode("ascii", "replace").decode("ascii")


def _list(directory: Path, *, recursive: bool) -> list[DatabaseFacts]:
    """What BLAST lists. One damaged database can end the listing: then the others are listed without its files."""
    done = _listing(directory, recursive=recursive)
    if done.returncode != 0:
        with tempfile.TemporaryDirectory(prefix="blastdb-") as made:
            _mirror(directory, Path(made), set(damage.broken(directory, recursive=recursive)), recursive=recursive)
            done = _listing(Path(made), recursive=recursive)
            done.stdout = done.stdout.replace(made, str(directory))
    if done.returncode != 0:
        raise DatabaseError(f"The databases in {directory} cannot be listed: {_last_words(done) or done.returncode}")
    found = []
    for line in done.stdout.splitlines():
        cells = line.split("\t", 5)
        if len(cells) != 6 or cells[1] not in _KINDS:
            continue
        path, kind, letters, sequences, date, title = cells
        if letters.isdigit() and sequences.isdigit():
            absolute = os.path.normpath(Path(directory, path))
            found.append(
                DatabaseFacts(
                    key_of(path),
                    clean(title),
                    absolute,
                    _held(absolute, kind),
                    int(sequences),
                    int(letters),
                    iso(date),
                )
            )
    return found


def _listing(directory: Path, *, recursive: bool) -> subprocess.CompletedProcess[str]:
    command = ["blastdbcmd", "-list", str(directory), "-list_outfmt", _LIST, "-remove_redundant_dbs"]
    return _run([*command, "-recursive"] if recursive else command, INSPECT_SECONDS)


def _mirror(directory: Path, made: Path, without: set[str], *, recursive: bool) -> None:
    """The same tree of links, but for the files of some databases (paths without suffix)."""
    for root, below, names in os.walk(directory):
        below[:] = [name for name in below if recursive and not name.startswith(".")]
        place = made / os.path.relpath(root, directory)
        place.mkdir(exist_ok=True)
        for name in names:
            path = os.path.join(root, name)
            if not any(path.startswith(f"{base}.") for base in without):
                (place / name).symlink_to(path)


def _held(path: str, kind: str) -> Kind:
    """Profiles are listed as proteins: their consensus sequences. What they are is in a file beside those."""
    profiles = any(os.path.exists(f"{path}{volume}.rps") for volume in ("", ".00"))
    return "rps" if profiles else _KINDS[kind]


def _damage(facts: DatabaseFacts) -> str:
    """Why a listed database cannot be searched, "" if it can: listing reads little of its files. Raises DatabaseError
    when BLAST did not answer; OSError."""
    command = ["blastdbcmd", "-db", argument(facts.path), "-dbtype", _stored(facts), "-info"]
    done = _run(command, INSPECT_SECONDS)
    if done.returncode < 0:
        # By a file that is cut short; or for want of memory, or by one read that failed, which the next look may not.
        if why := damage.broken(Path(facts.path).parent, recursive=False).get(facts.path):
            return why
        raise DatabaseError(f"{command[0]} was ended by signal {-done.returncode}.")
    volumes = [line.strip() for line in done.stdout.partition("Volumes:")[2].splitlines() if line.strip()]
    letter = "n" if facts.molecule == "nucl" else "p"
    if why := damage.tables(facts.path, letter):
        return why
    if done.returncode == 0:
        return next(filter(None, (damage.damage(volume, letter) for volume in volumes)), "")
    return _last_words(done) or f"reading it ends with status {done.returncode}."


def _taxonomy(facts: DatabaseFacts) -> bool | None:
    """Whether a whole database knows species; one that was made without is listed under the id 0 alone, and one of
    version 4 cannot be asked. None if BLAST did not answer."""
    command = ["blastdbcmd", "-db", argument(facts.path), "-dbtype", _stored(facts), "-tax_info", "-outfmt", "%T"]
    try:
        done = _run(command, INSPECT_SECONDS)
    except DatabaseError:
        return None
    if done.returncode < 0:
        return None
    return done.returncode == 0 and any(line.strip().strip("0").isdigit() for line in done.stdout.splitlines())


def _stored(facts: DatabaseFacts) -> Molecule:
    return "nucl" if facts.molecule == "nucl" else "prot"


def iso(date: str) -> str:
    """BLAST's “Nov 29, 2026  2:25 PM” (local time) as ISO; as it stands if it is anything else."""
    try:
        return datetime.strptime(" ".join(date.split()), "%b %d, %Y %I:%M %p").isoformat(timespec="minutes")
    except ValueError:
        return date.strip()


def _run(command: list[str], seconds: float, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            cwd=directory,
            check=False,
        )
    except FileNotFoundError as error:
        raise DatabaseError(
            f"{command[0]} is not installed: install BLAST+ (Debian: apt install ncbi-blast+)."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise DatabaseError(f"{command[0]} did not finish within {seconds:.0f} s.") from error


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
