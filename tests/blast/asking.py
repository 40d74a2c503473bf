"""Options tried on the real programs: what the form takes, BLAST+ must take; and the small files that takes."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from submits.blast.flags import Flag, permitted
from submits.blast.options import Options, parse
from submits.blast.programs import PROGRAMS, Program, executable

PROTEIN = "MKIPNIGNVMNKFEILGVVGEGAYGVVLKCRHKETHEIVAIKKFKDSEENEEVKETTLRELKMLRTLKQENIVELKEAFRRRGKLYLVFEYVEKNMLELLE"
GENE = (
    "ATGAAAATTCCGAACATTGGTAATGTTATGAATAAATTCGAAATCCTGGGTGTTGTTGGCGAAGGCGCCTATGGTGTGGTTCTGAAATGTCGTCATAAAGAAACC"
    "CATGAAATTGTTGCCATCAAAAAATTCAAAGATAGCGAAGAAAACGAAGAA"
)
_REALS = ("0.1", "0.3", "1", "7.5", "20", "50")
_TEXTS = {
    "dust": ("yes", "no", "20 64 1"), "seg": ("yes", "no", "12 2.2 2.5"),
    "comp_based_stats": ("0", "1", "2", "3", "D", "F"), "query_loc": ("1-60", "5-90"),
}  # fmt: skip


def guesses(flag: Flag) -> tuple[str, ...]:
    """Values worth a try, most of them in range."""
    if flag.choices:
        return flag.choices
    if flag.type == "Boolean":
        return ("true", "false")
    if flag.name in _TEXTS:
        return _TEXTS[flag.name]
    if flag.name in ("gapopen", "gapextend"):
        return ("0", "1", "2", "5", "9", "11")
    if flag.name == "penalty":
        return ("-1", "-2", "-3", "-4")
    if flag.type == "Real":
        return _REALS
    return ("0", "1", "2", "3", "5", "7", "11", "16", "28", "100")


def accepted(program: Program, seed: int) -> Iterator[Options]:
    """Options without end that the form takes, of one to four flags. Taxonomy ids need a database that has some."""
    chance = random.Random(f"{program.name} {seed}")
    flags = [flag for flag in permitted(program.name).values() if "taxids" not in flag.name]
    while True:
        words = []
        for flag in chance.sample(flags, chance.randint(1, 4)):
            words += [f"-{flag.name}", f"'{chance.choice(guesses(flag))}'"] if flag.valued else [f"-{flag.name}"]
        task = chance.choice(program.tasks) if program.tasks and "-task" not in words else ""
        options = parse(program, {"task": task, "flags": " ".join(words)})
        if isinstance(options, Options):
            yield options


def ask(program: Program, argv: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program with these options: against one small subject, or, for profiles, a database of the directory."""
    query = directory / "query.fa"
    query.write_text(f">q\n{GENE if program.query == 'nucl' else PROTEIN}\n")
    if program.database == "rps":
        target = ["-db", str(directory / "families")]
    else:
        subject = directory / "subject.fa"
        subject.write_text(f">s\n{GENE if program.database == 'nucl' else PROTEIN}\n")
        target = ["-subject", str(subject)]
    command = [executable(program.name), *argv, "-query", str(query), *target, "-outfmt", "6"]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)


NAMES = tuple(PROGRAMS)
