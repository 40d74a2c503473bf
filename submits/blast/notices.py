"""What is said of a search that can be run all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from submits.blast.findings import excerpt
from submits.blast.molecule import WORDS, Molecule
from submits.blast.options import Options
from submits.blast.programs import Program


class Named(Protocol):
    """A query, as far as it is spoken of; `length` is of letters."""

    @property
    def name(self) -> str: ...

    @property
    def length(self) -> int: ...


def notices_of(program: Program, chosen: Options, molecule: Molecule | None, queries: Sequence[Named]) -> Iterator[str]:
    """Sentences; `molecule` is what the queries tell of their kind, None when it is too little."""
    yield from _repeated(queries)
    if molecule is None:
        kind = f"taken as {WORDS[program.query]}, which {program.name} needs"
        yield f"Too few telling letters to know its kind: {kind}."
    yield from _short(program, chosen, queries)
    if chosen.max_target_seqs < 5:
        yield "With fewer than 5 hits asked for, BLAST does not promise that they are the best ones. Ask for more."


def _repeated(queries: Sequence[Named]) -> Iterator[str]:
    counted = Counter(hash(query.name) for query in queries)  # the names themselves may take all the memory there is
    repeated = [(mark, many) for mark, many in counted.items() if many > 1]
    if not repeated:
        return
    mark, many = repeated[0]
    name = next(query.name for query in queries if hash(query.name) == mark)
    more = "" if len(repeated) == 1 else ", and other names are shared too"
    yield f"“{excerpt(name, 30)}” is the name of {many:,} sequences{more}: tell them apart by their numbers."


def _short(program: Program, chosen: Options, queries: Sequence[Named]) -> Iterator[str]:
    if not program.short_task or chosen.task == program.short_task:
        return
    short = [place for place, query in enumerate(queries) if query.length <= program.short_letters]
    if not short:
        return
    which = (
        f"“{excerpt(queries[short[0]].name)}” is"
        if len(short) == 1
        else f"{len(short):,} of {len(queries):,} sequences are"
    )
    yield (
        f"{which} at most {program.short_letters} letters long: the task “{chosen.task}” may find nothing. "
        f"For short ones choose “{program.short_task}”."
    )
