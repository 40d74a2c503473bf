"""What an exit status of `elastic-blast` means: class, sentence and advice; and what its words tell where one status
stands for several things. Tables and one lookup. Pure.

The statuses are the program's documented ones. 1 is its word for wrong input and Python's for a crash; 7 is its word
for a missing program and for any command of the cloud that failed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from submits.engine.errors import Exit
from submits.states import Explained, Kind

LAST = 600  # characters of its own words that are repeated

STATUSES: dict[int, Explained] = {
    Exit.OK: Explained(Kind.WAIT, "elastic-blast has submitted the search.", "Nothing to do; it runs."),
    Exit.INPUT: Explained(
        Kind.FINAL,
        "elastic-blast did not accept the configuration, the query or an option.",
        "Change the search, or the file that COORDUI_ELASTIC_BLAST_CONFIG names, as its words say.",
    ),
    Exit.BLASTDB: Explained(
        Kind.FINAL,
        "elastic-blast does not find the database.",
        "An administrator must put it where COORDUI_ELASTIC_BLAST_DATABASE says.",
    ),
    Exit.BLAST_ENGINE: Explained(
        Kind.RETRY, "BLAST itself failed while the search was set up.", "It is tried again; then ask an operator."
    ),
    Exit.OOM: Explained(
        Kind.RETRY,
        "There was not enough memory to set the search up.",
        "Raise mem-limit or take a larger machine-type in COORDUI_ELASTIC_BLAST_CONFIG.",
    ),
    Exit.TIMEOUT: Explained(
        Kind.RETRY,
        "Something in the cloud took too long.",
        "It is tried again; the timeouts are in COORDUI_ELASTIC_BLAST_CONFIG.",
    ),
    Exit.PERMISSIONS: Explained(
        Kind.RETRY,
        "The cloud did not allow something.",
        "An administrator must grant what its words name; it is tried again.",
    ),
    Exit.DEPENDENCY: Explained(
        Kind.RETRY,
        "A program that elastic-blast needs is missing, or a command of it failed.",
        "Its words name the command; it is tried again.",
    ),
    Exit.CLUSTER: Explained(
        Kind.RETRY,
        "The cloud's cluster could not be used.",
        "It may still be starting or ending; it is tried again, under another address for results.",
    ),
    Exit.INTERRUPTED: Explained(Kind.RETRY, "The submit was interrupted, and took back what it had.", "Nothing to do."),
    Exit.NOT_READY: Explained(
        Kind.WAIT, "There is no room in the cloud's cluster now.", "It is tried again by itself."
    ),
    Exit.UNKNOWN: Explained(
        Kind.RETRY,
        "elastic-blast failed, and what it had made may not have been taken back.",
        "Look into the cloud for what is left; it is tried again.",
    ),
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """When `words` are found in what it said before ending with `status`, it meant `means`."""

    status: int
    words: re.Pattern[str]
    means: Exit
    told: Explained


def _pattern(status: int, words: str, means: Exit, kind: Kind, sentence: str, next_step: str) -> Pattern:
    return Pattern(status, re.compile(words), means, Explained(kind, sentence, next_step))


# The first that fits counts: a named crash before a crash.
PATTERNS: tuple[Pattern, ...] = (
    _pattern(
        1, r"(?s)Traceback .*(?:NoCredentialsError|DefaultCredentialsError|CredentialUnavailableError)",
        Exit.PERMISSIONS, Kind.RETRY,
        "elastic-blast has no credentials for the cloud.",
        "Name the variables that hold them, or their place, in COORDUI_ELASTIC_BLAST_PASS.",
    ),
    _pattern(
        1, r"(?s)Traceback .*Interpolation\w*Error",
        Exit.INPUT, Kind.FINAL,
        "elastic-blast could not read its configuration: a % in it is not doubled.",
        "In the file that COORDUI_ELASTIC_BLAST_CONFIG names, write %% for %.",
    ),
    _pattern(
        1, r"(?s)Traceback .*mt_mode",
        Exit.INPUT, Kind.FINAL,
        "elastic-blast crashed over the option -mt_mode.",
        "Search without -mt_mode.",
    ),
    _pattern(
        1, r"(?s)Traceback .*(?:ModuleNotFoundError|ImportError)",
        Exit.DEPENDENCY, Kind.RETRY,
        "elastic-blast is not installed whole.",
        "An administrator must install it anew.",
    ),
    _pattern(
        1, r"Traceback \(most recent call last\)",
        Exit.UNKNOWN, Kind.RETRY,
        "elastic-blast crashed.",
        "It is tried again; its log has the traceback for an operator.",
    ),
    _pattern(
        1, r"Unrecognized configuration parameter|[Uu]nrecognized section",
        Exit.INPUT, Kind.FINAL,
        "This version of elastic-blast does not know a setting that it was given.",
        "Take the setting that its words name out of COORDUI_ELASTIC_BLAST_CONFIG.",
    ),
    _pattern(
        1, r"unrecognized arguments|invalid choice",
        Exit.DEPENDENCY, Kind.RETRY,
        "elastic-blast is not the version that was found at the start.",
        "Start the workers again, so that they look anew.",
    ),
    _pattern(
        2, r"unrecognized arguments|invalid choice",
        Exit.DEPENDENCY, Kind.RETRY,
        "elastic-blast is not the version that was found at the start.",
        "Start the workers again, so that they look anew.",
    ),
    _pattern(
        7, r"No such file or directory: '|is not installed|[Rr]equired pre-?requisite",
        Exit.DEPENDENCY, Kind.RETRY,
        "A program that elastic-blast needs is not on PATH.",
        "An administrator must install the program that its words name.",
    ),
    _pattern(
        7, r"(?i)not (?:currently )?have (?:an )?(?:active account|permission)|\b403\b|unauthori[sz]ed|gcloud auth",
        Exit.PERMISSIONS, Kind.RETRY,
        "The cloud refused a command of elastic-blast: no account, or no permission.",
        "Name the variables that lead to the account in COORDUI_ELASTIC_BLAST_PASS, or grant the permission.",
    ),
    _pattern(
        7, r"(?i)quota",
        Exit.NOT_READY, Kind.RETRY,
        "The cloud's quota is used up.",
        "It is tried again; an administrator can raise the quota or take a smaller machine-type.",
    ),
    _pattern(
        8, r"already been submitted",
        Exit.CLUSTER, Kind.RETRY,
        "Another search has written to the address for this one's results.",
        "It is tried again under another address.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Meant:
    """`exit` is the status that the gates are told."""

    exit: Exit
    told: Explained

    def words(self, status: int, said: str) -> str:
        """For the log and the row's detail: what it was, what to do, and its own last words."""
        last = said.strip()[-LAST:]
        own = f"\nIts own words: {last}" if last else ""
        return f"{self.told.sentence} {self.told.next_step} (elastic-blast ended with status {status}.){own}"


def meaning(status: int, said: str) -> Meant:
    """What a status means beside what was said on standard error. One that is not documented, a signal's too, is
    UNKNOWN."""
    for pattern in PATTERNS:
        if pattern.status == status and pattern.words.search(said):
            return Meant(pattern.means, pattern.told)
    known = Exit(status) if status in STATUSES else Exit.UNKNOWN
    return Meant(known, STATUSES[known])
