"""How `elastic-blast` is driven: the section `[external]` of a submit's configuration, and what its Pod is told."""

from __future__ import annotations

import json
from configparser import ConfigParser
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal, get_args

from submits.engine.errors import EngineError, Exit
from submits.engine.settings import EXTERNAL
from submits.work import Missing, WorkStore, run_key

FILE = "external.json"
Markers = Literal["cli", "ours"]
Form = Literal["table", "archive"]


@dataclass(frozen=True, slots=True)
class External:
    """`flags` are what the program was found to take, by spaces; `config` an administrator's file, "" for none.

    `results` is where it writes, `results_at` the work store's name for the same place; `database` its name of a
    database, with `{key}` for ours. `pass_on` names, by spaces, variables of the environment that it sees. `cut_off` is
    in seconds: a submit that has not said that it is done after so long will never say it.
    """

    program: str
    version: str
    flags: str
    markers: Markers
    config: str
    results: str
    results_at: str
    database: str
    pass_on: str
    cut_off: int

    def section(self) -> str:
        """INI text; raises ValueError for a value with a line end."""
        lines = [f"[{EXTERNAL}]"]
        for key, value in asdict(self).items():
            if any(char in str(value) for char in "\r\n"):
                raise ValueError(f"[{EXTERNAL}] {key} holds a line end")
            lines.append(f"{key} = {value}")
        return "\n".join(lines) + "\n"


def read(path: Path) -> External | None:
    """None when the file has no such section: the search is our own engine's. Raises EngineError."""
    parser = ConfigParser(interpolation=None)
    parser.read_string(path.read_text("utf-8"), str(path))
    if not parser.has_section(EXTERNAL):
        return None
    found = dict(parser.items(EXTERNAL))
    wanted = [field.name for field in fields(External)]
    if sorted(found) != sorted(wanted) or found["markers"] not in get_args(Markers) or not found["cut_off"].isdecimal():
        raise EngineError(Exit.INPUT, f"{path}: [{EXTERNAL}] is not whole; it needs {', '.join(wanted)}")
    return External(**{**found, "cut_off": int(found["cut_off"])})  # type: ignore[arg-type]  # checked just above


@dataclass(frozen=True, slots=True)
class Handed:
    """What one try at a submit has handed over, beside the run's plan. `results` is its own address, `key` the same
    below `at`, a work store; `form` is what BLAST was asked to write there."""

    attempt: str
    results: str
    at: str
    key: str
    form: Form
    markers: Markers
    version: str
    cut_off: int
    submitted: bool = False

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(data: bytes) -> Handed:
        """What `to_json` wrote; raises ValueError or TypeError for anything else."""
        return Handed(**json.loads(data))


def read_handed(store: WorkStore, run_id: str) -> Handed | None:
    """None: this run was not handed to elastic-blast."""
    try:
        return Handed.from_json(store.get(run_key(run_id, FILE)))
    except Missing:
        return None
