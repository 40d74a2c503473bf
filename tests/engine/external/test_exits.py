"""Every exit status has a class, a sentence and advice; the ambiguous ones are told apart by what was said."""

from __future__ import annotations

import pytest

from submits import flow
from submits.engine.errors import Exit
from submits.engine.external.exits import PATTERNS, STATUSES, meaning
from submits.states import Kind

TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1, in main\n'


def test_every_documented_status_is_explained_in_sentences() -> None:
    assert set(STATUSES) == {*range(11), 255}
    for told in [*STATUSES.values(), *(pattern.told for pattern in PATTERNS)]:
        assert told.sentence.endswith(".") and told.next_step.endswith(".")
    assert len({told.sentence for told in STATUSES.values()}) == len(STATUSES)


def test_what_is_final_is_what_the_gates_do_not_try_again() -> None:
    assert {status for status, told in STATUSES.items() if told.kind is Kind.FINAL} == flow.HOPELESS
    for pattern in PATTERNS:
        assert (pattern.told.kind is Kind.FINAL) == (pattern.means in flow.HOPELESS), pattern


@pytest.mark.parametrize("status", [*range(11), 255])
def test_a_status_without_words_means_itself(status: int) -> None:
    meant = meaning(status, "")
    assert (meant.exit, meant.told) == (status, STATUSES[status])
    assert meant.words(status, "").endswith(f"(elastic-blast ended with status {status}.)")


@pytest.mark.parametrize("status", [11, 12, 42, 137, 143])
def test_a_status_that_nobody_documents_is_unknown(status: int) -> None:
    """11 too: that is our own word for a request without an answer."""
    assert meaning(status, "").exit is Exit.UNKNOWN


@pytest.mark.parametrize(
    ("status", "said", "means", "sentence"),
    [
        (1, "ERROR: Missing results", Exit.INPUT, "did not accept"),
        (1, TRACE + "botocore.exceptions.NoCredentialsError: No credentials", Exit.PERMISSIONS, "no cred"),
        (1, TRACE + "configparser.InterpolationSyntaxError: '%' must be followed", Exit.INPUT, "a % in it"),
        (1, TRACE + "  x = opts[opts.index('-mt_mode') + 1]\nValueError: 0", Exit.INPUT, "-mt_mode"),
        (1, TRACE + "ModuleNotFoundError: No module named 'boto3'", Exit.DEPENDENCY, "not installed whole"),
        (1, TRACE + "KeyError: 'major'", Exit.UNKNOWN, "crashed"),
        (1, 'ERROR: Unrecognized configuration parameter "x" in section "cluster".', Exit.INPUT, "does not know a"),
        (1, "elastic-blast: error: unrecognized arguments: --json", Exit.DEPENDENCY, "not the version"),
        (2, "usage: x\nelastic-blast: error: unrecognized arguments: --json", Exit.DEPENDENCY, "not the version"),
        (2, "ERROR: BLAST database nt was not found", Exit.BLASTDB, "does not find the database"),
        (7, "[Errno 2] No such file or directory: 'gcloud'", Exit.DEPENDENCY, "is not on PATH"),
        (7, 'The command "gcloud x" returned with exit code 1\ndo not currently have an active account', 6, "refused"),
        (7, 'The command "gcloud x" returned with exit code 1\nQuota \'CPUS\' exceeded', Exit.NOT_READY, "quota"),
        (7, 'The command "gsutil cp x" returned with exit code 1', Exit.DEPENDENCY, "or a command of it failed"),
        (8, "An ElasticBLAST search that will write results to x has already been submitted.", 8, "Another search"),
        (8, "Previous instance of cluster x is still RUNNING", Exit.CLUSTER, "could not be used"),
        (0, TRACE, Exit.OK, "has submitted"),
    ],
)  # fmt: skip
def test_one_status_stands_for_several_things(status: int, said: str, means: int, sentence: str) -> None:
    meant = meaning(status, said)
    assert meant.exit == means
    assert sentence in meant.told.sentence
    assert meant.words(status, said).endswith(said.strip()[-100:])
