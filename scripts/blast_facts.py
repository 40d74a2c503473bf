#!/usr/bin/env python3
"""Asks the installed BLAST+ what it accepts; what it prints is kept as submits/blast/blast_facts.json.

1. every flag of every program, with its type, range, choices and what it excludes or requires: from `-help`
2. the columns of tabular output: from `-help`
3. the matrices, each with its gap costs: from the list BLAST gives when it is asked for one it does not have
4. the pairs of different amino acids that score above zero in each matrix: from what it counts as positives
5. the rewards and penalties it has statistics for, each with its gap costs: the same way
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import combinations
from math import gcd
from pathlib import Path
from typing import Any

PROGRAMS = ("blastn", "blastp", "blastx", "tblastn", "tblastx", "psiblast", "rpsblast", "rpstblastn")
PROTEIN = "MKIPNIGNVMNKFEILGVVGEGAYGVVLKCRHKETHEIVAIKKF"
BASES = "AGAGTTTTTCGAACTCGTGTTGTCGAGCGACGGAATTAGATCAGTTAAATGGCAGAAAACTGGCAGGGC"
AMINO_ACIDS = "ABCDEFGHIKLMNPQRSTUVWYZ"
_FLAG = re.compile(r"^ -(\w+)(?: <(.*)>)?$")
_COLUMN = re.compile(r"^\s+(\w+) means ")


def run(*argv: str) -> tuple[int, str, str]:
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def executable(program: str) -> str:
    """Debian calls one of them by another name."""
    return program if shutil.which(program) else f"{program}+"


def flags(help_text: str) -> dict[str, dict[str, Any]]:
    """Each flag's facts; those without a value have the type "flag"."""
    found: dict[str, dict[str, Any]] = {}
    for block in re.split(r"\n(?= -\w)", help_text.partition("OPTIONAL ARGUMENTS\n")[2].partition("\n\n\n")[0]):
        head, *rest = re.sub(r"\n {16}", " ", block).split("\n")
        match = _FLAG.match(head.rstrip())
        if match is None:
            raise SystemExit(f"not understood: {head!r}")
        text = " ".join(line.strip() for line in rest if not line.startswith(" ***"))
        default = re.search(r"Default = `(.*?)'", text)
        fact: dict[str, Any] = domain(match[2]) if match[2] else {"type": "flag"}
        if default:
            fact["default"] = default[1]
        for word in ("Incompatible with", "Requires"):
            listed = re.search(rf"\* {word}: +([\w, ]+)", text)
            if listed:
                fact[word.split()[0].lower()] = [name.strip() for name in listed[1].split(",") if name.strip()]
        found[match[1]] = fact
    return found


def domain(text: str) -> dict[str, Any]:
    """`Integer, >=4` and its like."""
    kind, _, rest = text.partition(",")
    fact: dict[str, Any] = {"type": kind.strip()}
    if quoted := re.findall(r"['`]([^']+)'", rest):
        fact["choices"] = quoted
    elif rest.strip().startswith("values between"):
        spans = [span.split("-") for span in rest.partition(":")[2].replace(" ", "").split(",")]
        fact["choices"] = [str(n) for span in spans for n in range(int(span[0]), int(span[-1]) + 1)]
    elif between := re.match(r"\s*(\S+)\.\.(\S+)", rest):
        fact |= {">=": float(between[1]), "<=": float(between[2])}
    else:
        for sign, number in re.findall(r"(>=|=<|<=|>|<)\s*(-?[\d.]+)", rest):
            fact[{"=<": "<="}.get(sign, sign)] = float(number)
    return fact


def columns(help_text: str) -> list[str]:
    part = help_text.partition("format specifiers for options 6, 7 and 10 are:")[2].partition("When not provided")[0]
    return [match[1] for line in part.split("\n") if (match := _COLUMN.match(line))]


def matrices(protein: str) -> dict[str, dict[str, Any]]:
    """Gap costs, its default first, and the pairs of letters that count as positives."""
    found = {}
    said = run("blastp", "-query", protein, "-subject", protein, "-matrix", "NONE")[2]
    for name in sorted(said.partition("supported matrices are:")[2].partition("Please")[0].split()):
        argv = ("blastp", "-query", protein, "-subject", protein, "-matrix", name)
        said = run(*argv, "-gapopen", "99", "-gapextend", "99")[2]
        costs = [[int(a), int(b)] for a, b in re.findall(r"^(\d+), (\d+)$", said, re.M) if a != "32767"]
        usual = re.search(r"Gap Penalties: Existence: (\d+), Extension: (\d+)", run(*argv)[1])
        if not (usual and [int(usual[1]), int(usual[2])] in costs):
            raise SystemExit(f"not understood of {name}")
        found[name] = {"usual": [int(usual[1]), int(usual[2])], "costs": costs, "positives": positives(name)}
    return found


def positives(matrix: str) -> list[str]:
    """Pairs in the order of the alphabet. Every letter against every letter, in the same surroundings."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made, "letters.fa")
        path.write_text("".join(f">{letter}\n{PROTEIN}{letter}{PROTEIN}\n" for letter in AMINO_ACIDS))
        argv = ["blastp", "-query", str(path), "-subject", str(path), "-matrix", matrix, "-seg", "no", "-ungapped"]
        argv += [
            "-comp_based_stats",
            "0",
            "-xdrop_ungap",
            "50",
            "-max_hsps",
            "1",
            "-outfmt",
            "6 qseqid sseqid length nident positive",
        ]
        rows = [line.split("\t") for line in run(*argv)[1].splitlines()]
    whole = 2 * len(PROTEIN) + 1
    pairs = {one + other: int(more) - int(same) for one, other, length, same, more in rows if int(length) == whole}
    if not (len(pairs) == len(AMINO_ACIDS) ** 2):
        raise SystemExit(f"not understood of {matrix}")
    return [pair for one, other in combinations(AMINO_ACIDS, 2) if pairs[pair := one + other]]


def scores(bases: str) -> list[dict[str, Any]]:
    """Each reward and penalty that has statistics: its gap costs, from which on anything stricter is accepted, and
    whether gaps may cost nothing."""
    found = []
    for reward in range(1, 11):
        for penalty in range(1, 11):
            if gcd(reward, penalty) > 1:
                continue
            argv = ["blastn", "-query", bases, "-subject", bases, "-reward", str(reward), "-penalty", f"-{penalty}"]
            said = run(*argv, "-task", "blastn", "-gapopen", "0", "-gapextend", "99")[2]
            costs = [
                [int(a), int(b)] for a, b in re.findall(r"^(\d+) and (\d+) are supported existence and", said, re.M)
            ]
            stricter = re.search(r"more stringent than (\d+) and (\d+)", said)
            if costs and stricter:
                free = run(*argv, "-task", "megablast", "-gapopen", "0", "-gapextend", "0")[0] == 0
                least = [int(stricter[1]), int(stricter[2])]
                score = {"reward": reward, "penalty": -penalty, "costs": costs, "stricter": least, "free": free}
                found.append(score)
    return found


def facts() -> dict[str, Any]:
    helps = {program: run(executable(program), "-help")[1] for program in PROGRAMS}
    version = re.search(r"BLAST\S* (\S+)", helps["blastn"].partition("DESCRIPTION")[2])
    if version is None:
        raise SystemExit("BLAST+ does not say which version it is")
    with tempfile.TemporaryDirectory() as made:
        protein, bases = Path(made, "p.fa"), Path(made, "n.fa")
        protein.write_text(f">p\n{PROTEIN}\n")
        bases.write_text(f">n\n{BASES}\n")
        known = {program: flags(text) for program, text in helps.items()}
        files = {"blastp": (protein, protein), "blastx": (bases, protein), "tblastn": (protein, bases)}
        files |= {"tblastx": (bases, bases), "psiblast": (protein, protein)}
        scoring = matrices(str(protein))
        for program, (query, subject) in files.items():
            argv = (program, "-query", str(query), "-subject", str(subject), "-matrix")
            known[program]["matrix"]["choices"] = [name for name in scoring if run(*argv, name)[0] == 0]
        return {
            "version": version[1],
            "programs": known,
            "columns": columns(helps["blastn"]),
            "matrices": scoring,
            "scores": scores(str(bases)),
        }


def written(found: Any, depth: int = 0) -> str:
    """JSON with one fact to a line."""
    if isinstance(found, dict) and depth < 3:
        inner = [f"{' ' * (depth + 1)}{json.dumps(key)}: {written(value, depth + 1)}" for key, value in found.items()]
        return "{\n" + ",\n".join(inner) + "\n" + " " * depth + "}"
    return json.dumps(found)


if __name__ == "__main__":
    sys.stdout.write(written(facts()) + "\n")
