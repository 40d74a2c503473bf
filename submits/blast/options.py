"""Search options: a typed allow-list. Text that is not on it never reaches a command line, which is a list anyway."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from submits.blast.findings import Finding, Findings, excerpt
from submits.blast.programs import Program

EVALUE = 0.05
MAX_TARGET_SEQS = 100
MOST_TARGET_SEQS = 5000
KEYS = ("task", "evalue", "max_target_seqs", "low_complexity")

_REAL = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST = 40
_WHOLE = re.compile(r"[0-9]{1,9}")
_TRUTH = {"yes": True, "on": True, "true": True, "1": True, "no": False, "off": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Options:
    """What may be chosen; `low_complexity` is True when regions of low complexity are filtered out of the query."""

    task: str
    evalue: float = EVALUE
    max_target_seqs: int = MAX_TARGET_SEQS
    low_complexity: bool = False

    def argv(self, program: Program) -> list[str]:
        """The options as arguments of `program`, one list item each."""
        task = ["-task", self.task] if self.task else []
        return [
            *task,
            "-evalue", _plain(self.evalue),
            "-max_target_seqs", str(self.max_target_seqs),
            program.filter, "yes" if self.low_complexity else "no",
        ]  # fmt: skip

    def changed(self, program: Program) -> dict[str, str]:
        """What differs from the program's defaults, as text: the chips of the form."""
        usual = default(program)
        return {key: text for key, text in self.text().items() if text != usual.text()[key]}

    def text(self) -> dict[str, str]:
        """The options as form values: `parse(program, options.text())` gives the same options."""
        return {
            "task": self.task,
            "evalue": _plain(self.evalue),
            "max_target_seqs": str(self.max_target_seqs),
            "low_complexity": "yes" if self.low_complexity else "no",
        }


def default(program: Program) -> Options:
    return Options(task=program.tasks[0] if program.tasks else "", low_complexity=program.filtered)


def parse(program: Program, given: Mapping[str, str]) -> Options | Findings:
    """The options in `given`, missing and empty ones being the program's defaults; any other key is refused by name."""
    usual = default(program)
    findings = [
        Finding(key, f"The option “{excerpt(key, 40)}” is not one that can be set here.")
        for key in given
        if key not in KEYS
    ]
    value = {key: given.get(key, "").strip() for key in KEYS}
    task = value["task"] or usual.task
    if task not in program.tasks and task != usual.task:
        findings.append(Finding("task", _task(program, task)))
    evalue = _evalue(value["evalue"]) if value["evalue"] else usual.evalue
    if evalue is None:
        findings.append(
            Finding(
                "evalue",
                f"The e-value must be a number above 0, such as 0.05 or 1e-10; “{excerpt(value['evalue'])}” is not.",
            )
        )
    most = _target_seqs(value["max_target_seqs"]) if value["max_target_seqs"] else usual.max_target_seqs
    if most is None:
        findings.append(
            Finding(
                "max_target_seqs",
                f"The maximum of hits must be a whole number from 1 to {MOST_TARGET_SEQS}; "
                f"“{excerpt(value['max_target_seqs'])}” is not.",
            )
        )
    masked = _TRUTH.get(value["low_complexity"].lower()) if value["low_complexity"] else usual.low_complexity
    if masked is None:
        findings.append(Finding("low_complexity", "The low-complexity filter is either yes or no."))
    if findings or evalue is None or most is None or masked is None:
        return Findings(findings)
    return Options(task, evalue, most, masked)


def _task(program: Program, task: str) -> str:
    listed = ", ".join(program.tasks) or "none"
    meant = next((known for known in program.tasks if known.lower() == task.lower()), "")
    hint = f" Did you mean “{meant}”? Upper and lower case matter." if meant else ""
    return f"“{excerpt(task)}” is not a task of {program.name}, which has: {listed}.{hint}"


def _evalue(text: str) -> float | None:
    if len(text) > _LONGEST or not _REAL.fullmatch(text):
        return None
    number = float(text)
    return number if number > 0 and math.isfinite(number) else None


def _plain(number: float) -> str:
    """The shortest usual spelling that reads back as the same number."""
    short = format(number, "g")
    return short if float(short) == number else repr(number)


def _target_seqs(text: str) -> int | None:
    if not _WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if 1 <= number <= MOST_TARGET_SEQS else None
