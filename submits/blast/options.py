"""Search options: a typed allow-list. Text that is not on it never reaches a command line, which is a list anyway."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from submits.blast.combinations import refused
from submits.blast.facts import DatabaseFacts
from submits.blast.findings import MOST, Finding, Findings, excerpt, first_of_each
from submits.blast.flags import REFUSED, Flag, permitted, plain
from submits.blast.programs import Program
from submits.blast.scoring import matrix_of

EVALUE = 0.05
MAX_TARGET_SEQS = 100
MOST_TARGET_SEQS = 5000
KEYS = ("task", "evalue", "max_target_seqs", "low_complexity", "flags")
LONGEST = 2_000

_EVALUE = Flag("evalue", "Real", least=0, open="<")
_TARGET_SEQS = Flag("max_target_seqs", "Integer", least=1, most=MOST_TARGET_SEQS)
_TRUTH = {"yes": True, "on": True, "true": True, "1": True, "no": False, "off": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Options:
    """What may be chosen; `low_complexity` is True when regions of low complexity are filtered out of the query.

    `flags` are the others, in the order of BLAST's help: a name without its hyphen, and a value, "" if it takes none.
    """

    task: str
    evalue: float = EVALUE
    max_target_seqs: int = MAX_TARGET_SEQS
    low_complexity: bool = False
    flags: tuple[tuple[str, str], ...] = ()

    @property
    def own_filter(self) -> bool:
        """Whether the filter is among the flags, with numbers of its own."""
        return any(name in ("dust", "seg") for name, _ in self.flags)

    def argv(self, program: Program) -> list[str]:
        """The options as arguments of `program`, one list item each."""
        task = ["-task", self.task] if self.task else []
        filtered = [] if self.own_filter else [program.filter, "yes" if self.low_complexity else "no"]
        most = ["-max_target_seqs", str(self.max_target_seqs)]
        return [*task, "-evalue", plain(self.evalue), *most, *filtered, *_words(self.flags)]

    def changed(self, program: Program) -> dict[str, str]:
        """What differs from the program's defaults, as text: the chips of the form."""
        usual = default(program)
        return {key: text for key, text in self.text().items() if text and text != usual.text().get(key)}

    def text(self) -> dict[str, str]:
        """The options as form values: `parse(program, options.text())` gives the same options."""
        flags = {"flags": shlex.join(_words(self.flags))} if self.flags else {}
        return {
            "task": self.task,
            "evalue": plain(self.evalue),
            "max_target_seqs": str(self.max_target_seqs),
            "low_complexity": "" if self.own_filter else "yes" if self.low_complexity else "no",
            **flags,
        }


def default(program: Program) -> Options:
    return Options(task=program.tasks[0] if program.tasks else "", low_complexity=program.filtered)


def matrix(text: Mapping[str, str]) -> str:
    """The matrix of a search, from its options as `Options.text` wrote them."""
    words = shlex.split(text.get("flags", ""))
    chosen = words[words.index("-matrix") + 1] if "-matrix" in words else ""
    return matrix_of(text.get("task", ""), chosen)


def parse(program: Program, given: Mapping[str, str]) -> Options | Findings:
    """The options in `given`, missing and empty ones being the program's defaults; any other key is refused by name.

    `flags` is text as one would type it after the program's name. A flag that has a field of its own is taken for it.
    """
    usual = default(program)
    findings = [
        Finding(key, f"The option “{excerpt(key, 40)}” is not one that can be set here.")
        for key in given
        if key not in KEYS
    ][:MOST]
    value = {key: given.get(key, "").strip() for key in KEYS}
    typed: dict[str, str] = {}
    for found in _flags(program, value["flags"]):
        if isinstance(found, Finding):
            findings.append(found)
        else:
            typed[found[0]] = found[1]
    findings += _fields(program, typed, value)
    task = value["task"] or usual.task
    known_task = task in program.tasks or task == usual.task
    if not known_task:
        findings.append(Finding("task", _task(program, task)))
    evalue = _EVALUE.read(value["evalue"]) if value["evalue"] else plain(usual.evalue)
    if evalue is None:
        findings.append(
            Finding(
                "evalue",
                f"The e-value must be a number above 0, such as 0.05 or 1e-10; “{excerpt(value['evalue'])}” is not.",
            )
        )
    most = _TARGET_SEQS.read(value["max_target_seqs"]) if value["max_target_seqs"] else str(usual.max_target_seqs)
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
    if known_task:
        findings += [Finding("flags", sentence) for sentence in refused(program, task, typed)]
    if findings or evalue is None or most is None or masked is None:
        return first_of_each(findings)
    order = list(permitted(program.name))
    flags = sorted(typed.items(), key=lambda item: order.index(item[0]))
    return Options(task, float(evalue), int(most), masked, tuple(flags))


def without_species(chosen: Options, database: DatabaseFacts) -> list[Finding]:
    """Taxonomy ids need a database that knows the species of its sequences; BLAST would fail for want of them."""
    if database.taxonomy is not False:
        return []
    return [
        Finding(
            "flags",
            f"-{name} needs a database that knows the species of its sequences, and “{database.title}” does not. "
            "Take it out, or choose another database.",
        )
        for name, _ in chosen.flags
        if name in ("taxids", "negative_taxids")
    ]


def _words(flags: tuple[tuple[str, str], ...]) -> list[str]:
    return [word for name, value in flags for word in (f"-{name}", value) if word]


def _flags(program: Program, text: str) -> Iterator[tuple[str, str] | Finding]:
    """Each flag with its value, in the order typed; or what is wrong with it."""
    if len(text) > LONGEST:
        yield Finding("flags", f"These are {len(text):,} characters; there may be {LONGEST:,}.")
        return
    try:
        words = shlex.split(text)
    except ValueError:
        yield Finding("flags", "A quotation mark is not closed.")
        return
    seen: set[str] = set()
    while words:
        word = words.pop(0)
        flag = _flag(program, word)
        if isinstance(flag, Finding):
            yield flag
            _skip(words)
            continue
        if flag.name in seen:
            yield Finding("flags", f"-{flag.name} is there twice.")
        seen.add(flag.name)
        if not flag.valued:
            yield flag.name, ""
            continue
        if not words:
            yield Finding("flags", f"-{flag.name} needs {flag.wanted} after it.")
            return
        value = flag.read(given := words.pop(0))
        if value is None:
            yield Finding("flags", f"-{flag.name} takes {flag.wanted}; “{excerpt(given)}” is not.")
            _skip(words)
        else:
            yield flag.name, value


def _skip(words: list[str]) -> None:
    """What follows a mistake up to the next option is no mistake of its own."""
    while words and not words[0].startswith("-"):
        words.pop(0)


def _flag(program: Program, word: str) -> Flag | Finding:
    name = word.removeprefix("-")
    flags = permitted(program.name)
    if word.startswith("-") and name in flags:
        return flags[name]
    if word.startswith("-") and name in REFUSED:
        return Finding("flags", f"-{name} cannot be set here: {REFUSED[name]}.")
    return Finding("flags", _unknown(program, word, flags))


def _unknown(program: Program, word: str, flags: Mapping[str, Flag]) -> str:
    shown = f"“{excerpt(word)}”"
    name = word.partition("=")[0].lstrip("-\u2010\u2011\u2012\u2013\u2014\u2212")
    meant = next((known for known in (*flags, *REFUSED) if known == name.lower()), "")
    if meant in REFUSED:
        return f"{shown} is not an option here, and -{meant} cannot be set: {REFUSED[meant]}."
    if meant and "=" in word:
        return f"{shown}: write a space between an option and its value, not “=”."
    if meant:
        why = "Upper and lower case matter." if name != meant else "An option begins with one plain hyphen."
        return f"{shown} is not an option. Did you mean -{meant}? {why}"
    if not word.startswith("-"):
        return f"{shown} stands where an option is expected; options begin with a hyphen, such as -word_size 7."
    return f"{shown} is not an option of {program.name} that can be set here."


def _fields(program: Program, typed: dict[str, str], value: dict[str, str]) -> Iterator[Finding]:
    """Moves the flags that have a field of their own out of `typed` into `value`."""
    filters = program.filter.removeprefix("-")
    fields = {"task": "task", "evalue": "evalue", "max_target_seqs": "max_target_seqs", filters: "low_complexity"}
    for name, field in fields.items():
        if name not in typed:
            continue
        if value[field]:
            yield Finding("flags", f"-{name} has a field of its own above, and both are filled in. Leave one.")
        # Numbers of a filter's own fit into no field: the flag stays what it is.
        if name != filters or typed[name] in ("yes", "no"):
            value[field] = typed.pop(name)


def _task(program: Program, task: str) -> str:
    listed = ", ".join(program.tasks) or "none"
    meant = next((known for known in program.tasks if known.lower() == task.lower()), "")
    hint = f" Did you mean “{meant}”? Upper and lower case matter." if meant else ""
    return f"“{excerpt(task)}” is not a task of {program.name}, which has: {listed}.{hint}"
