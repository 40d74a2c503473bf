"""Options that BLAST refuses together, or takes and then finds nothing by. Each rule was seen of BLAST+ itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from submits.blast import known
from submits.blast.flags import permitted
from submits.blast.programs import Program
from submits.blast.scoring import matrix_of

# The reward, penalty, and costs of a gap that a task has by itself.
_USUAL = {
    "megablast": (1, -2, 0, 0),
    "blastn": (2, -3, 5, 2),
    "dc-megablast": (2, -3, 5, 2),
    "blastn-short": (1, -3, 5, 2),
}
_GAPS = frozenset({"gapopen", "gapextend"})


def refused(program: Program, task: str, values: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each thing that does not go together; `values` by flag, "" for one without a value."""
    flags = permitted(program.name)
    for name in values:
        for other in sorted(flags[name].incompatible & values.keys()):
            if name < other:
                yield f"-{name} and -{other} exclude each other. Take one of them out."
        for other in sorted(flags[name].requires - values.keys()):
            yield f"-{name} needs -{other} beside it."
    yield from _templates(task, values)
    yield from _words(task, values)
    if "ungapped" in values:
        yield from _ungapped(flags, values)
    if program.name == "blastn":
        yield from _nucleotide_scores(task, values)
    elif values.keys() & _GAPS:
        yield from _gap_costs(task, values)


def _templates(task: str, values: Mapping[str, str]) -> Iterator[str]:
    if values.keys() & {"template_type", "template_length"} and task != "dc-megablast":
        yield "-template_type and -template_length belong to the task dc-megablast. Choose it, or take them out."
    if task == "dc-megablast" and values.get("word_size", "11") not in ("11", "12"):
        yield "With the task dc-megablast -word_size is 11 or 12."
    two_hits = values.get("window_size", "40" if task == "dc-megablast" else "0") != "0"
    if values.get("off_diagonal_range", "0") != "0" and not two_hits:
        yield "-off_diagonal_range needs a -window_size above 0 beside it."


def _words(task: str, values: Mapping[str, str]) -> Iterator[str]:
    """Below this threshold BLAST makes its table of words for minutes, with each batch, or runs out of memory."""
    letters = int(values.get("word_size", "6" if task.endswith("-fast") else "3"))
    if letters > 5 and values.get("matrix") == "IDENTITY":
        yield "With the matrix IDENTITY a word (-word_size) has at most five letters, and a fast task has six."
    if letters >= 5 and float(values.get("threshold", "11")) < 11:
        yield "With words of five letters or more (-word_size, or a fast task) -threshold is at least 11."


def _ungapped(flags: Mapping[str, Any], values: Mapping[str, str]) -> Iterator[str]:
    if "comp_based_stats" in flags and values.get("comp_based_stats", "2") not in ("0", "F", "f"):
        yield "-ungapped needs -comp_based_stats 0 beside it."
    if "use_sw_tback" in values:
        yield "-ungapped and -use_sw_tback exclude each other. Take one of them out."


def _gap_costs(task: str, values: Mapping[str, str]) -> Iterator[str]:
    matrix = matrix_of(task, values.get("matrix", ""))
    usual = known.matrices()[matrix]["usual"]
    costs = [int(values.get("gapopen", usual[0])), int(values.get("gapextend", usual[1]))]
    allowed = known.matrices()[matrix]["costs"]
    if costs not in allowed:
        listed = ", ".join(f"{opening}/{extension}" for opening, extension in allowed)
        yield f"{matrix} has no gap costs {costs[0]}/{costs[1]} (-gapopen/-gapextend). It has: {listed}."


def _nucleotide_scores(task: str, values: Mapping[str, str]) -> Iterator[str]:
    """Pairs without statistics find nothing, with a warning alone, so they are refused here."""
    usual = _USUAL[task]
    names = ("reward", "penalty", "gapopen", "gapextend")
    reward, penalty, opening, extension = (
        int(values.get(name, str(own))) for name, own in zip(names, usual, strict=True)
    )
    found = [fact for fact in known.facts()["scores"] if (fact["reward"], fact["penalty"]) == (reward, penalty)]
    if not found:
        listed = ", ".join(f"{fact['reward']}/{fact['penalty']}" for fact in known.facts()["scores"])
        yield f"BLAST has no statistics for -reward {reward} with -penalty {penalty}. It has them for: {listed}."
        return
    if (opening, extension) == (0, 0):
        if task != "megablast" or "no_greedy" in values:
            yield "Gaps that cost nothing (-gapopen 0 -gapextend 0) go with megablast alone, without -no_greedy."
        elif not found[0]["free"]:
            yield f"With -reward {reward} and -penalty {penalty} a gap must cost something: -gapopen, -gapextend."
        return
    least = found[0]["stricter"]
    stricter = opening >= least[0] and extension >= least[1]
    if [opening, extension] not in found[0]["costs"] and not stricter:
        listed = ", ".join(dict.fromkeys(f"{a}/{b}" for a, b in found[0]["costs"]))
        yield (
            f"With -reward {reward} and -penalty {penalty} there are no gap costs {opening}/{extension} "
            f"(-gapopen/-gapextend). There are: {listed}, and both higher."
        )
