"""What the installed `elastic-blast` can do: asked of the program itself, since its two lines differ in flags."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from submits.engine.errors import EngineError, Exit

WITHIN = 30.0  # seconds for each of the two questions
KEY, JSON = "--idempotency-key", "--json"
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`flags` are those of its submit, as `--cfg`."""

    version: str
    flags: frozenset[str]

    @property
    def keeps_id(self) -> bool:
        """It gives a search the id it is told, on the labels of its Jobs, and makes a finalizer: the Azure fork."""
        return KEY in self.flags

    @property
    def says_json(self) -> bool:
        return JSON in self.flags

    @property
    def carries_quotes(self) -> bool:
        """An option of several words reaches BLAST as one. The fork's manifests and scripts take it apart."""
        return not self.keeps_id

    def __str__(self) -> str:
        named = f"elastic-blast {self.version or 'of an unknown version'}"
        if self.keeps_id:
            json = "says what it did as JSON" if self.says_json else "does not speak JSON"
            return f"{named} keeps the id it is given, marks its Jobs with it, and {json}"
        return f"{named} takes no id and makes no finalizer, so no gate can see its searches"


def probe(program: str, environment: Mapping[str, str]) -> Capabilities:
    """Asks `--version` and `submit --help`, in an empty directory that is its home. Raises EngineError when it is not
    there, does not answer, or is something else."""
    with tempfile.TemporaryDirectory(prefix="probe-") as home:
        version = _ask([program, "--version"], environment, home)
        told = _ask([program, "submit", "--help"], environment, home)
    flags = frozenset(_FLAG.findall(told))
    if "--cfg" not in flags:
        raise EngineError(Exit.DEPENDENCY, f"{program} is no elastic-blast: its submit takes no --cfg")
    found = _VERSION.search(version)
    return Capabilities(found[0] if found else "", flags)


def _ask(argv: list[str], environment: Mapping[str, str], home: str) -> str:
    """Standard output alone: warnings of its libraries are no answer."""
    told = " ".join(argv)
    try:
        done = subprocess.run(
            argv, cwd=home, env={**environment, "HOME": home, "TMPDIR": home}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=WITHIN, check=False,
        )  # fmt: skip
    except OSError as error:
        raise EngineError(Exit.DEPENDENCY, f"{argv[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise EngineError(Exit.DEPENDENCY, f"`{told}` did not answer within {WITHIN:g} s") from error
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip()[-500:]
        raise EngineError(
            Exit.DEPENDENCY, f"`{told}` ended with status {done.returncode}: {words or 'it said nothing'}"
        )
    return done.stdout.decode("utf-8", "replace")
