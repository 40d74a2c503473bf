from __future__ import annotations

from typing import Any

import pytest

from submits.engine.jobs import Names
from submits.engine.progress import Progress, retried, state_of

RUN = "job-" + "ab" * 16
NAMES = Names(RUN)


def job(*conditions: str, **status: Any) -> dict[str, Any]:
    listed = [{"type": kind.strip("!"), "status": "False" if kind[0] == "!" else "True"} for kind in conditions]
    return {"status": {"conditions": listed, **status}}


def jobs(*batches: dict[str, Any] | None, submit: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    found = {NAMES.blast(n): one for n, one in enumerate(batches, 1) if one is not None}
    return found | ({NAMES.submit: submit} if submit else {})


DONE, ALIVE = job("SuccessCriteriaMet", "Complete"), job()
FAILED = {
    "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "late"}]}
}


@pytest.mark.parametrize(
    ("one", "state"),
    [
        ({}, "alive"),
        (job(), "alive"),
        (job("SuccessCriteriaMet"), "alive"),
        (job("FailureTarget"), "alive"),
        (job("Suspended"), "alive"),
        (job("!Complete"), "alive"),
        (job(failed=3), "alive"),
        (job("SuccessCriteriaMet", "Complete"), "done"),
        (job("Complete"), "done"),
        (job("FailureTarget", "Failed"), "failed"),
    ],
)
def test_only_a_final_condition_ends_a_job_wherever_it_stands(one: dict[str, Any], state: str) -> None:
    assert state_of(one)[0] == state


def test_a_retry_is_seen_before_the_job_fails() -> None:
    assert retried(job(failed=1)) and not retried(job()) and not retried({})


def test_all_done_is_complete() -> None:
    progress = Progress(RUN, 2)
    assert progress.look(jobs(ALIVE, None, submit=ALIVE), patient=True) is None and not progress.complete
    assert progress.look(jobs(DONE, ALIVE, submit=DONE), patient=False) is None and not progress.complete
    assert progress.look(jobs(DONE, DONE, submit=DONE), patient=False) is None and progress.complete


def test_what_was_done_stays_done_when_its_job_goes() -> None:
    progress = Progress(RUN, 2)
    progress.look(jobs(DONE, ALIVE, submit=DONE), patient=False)
    assert progress.look(jobs(None, DONE), patient=False) is None and progress.complete


def test_a_failed_batch_says_why() -> None:
    failed = Progress(RUN, 2).look(jobs(ALIVE, FAILED, submit=DONE), patient=True)
    assert failed is not None and (failed.batch, failed.reason, failed.sentence) == (2, "DeadlineExceeded", "late")


def test_a_batch_that_was_seen_and_is_gone_was_taken_away() -> None:
    progress = Progress(RUN, 2)
    progress.look(jobs(ALIVE, ALIVE, submit=ALIVE), patient=True)
    failed = progress.look(jobs(ALIVE, None, submit=ALIVE), patient=True)
    assert failed is not None and "batch 2 was taken away" in failed.sentence


def test_batches_that_were_never_started_are_not_waited_for() -> None:
    assert Progress(RUN, 2).look(jobs(submit=ALIVE), patient=False) is None
    failed = Progress(RUN, 2).look(jobs(submit=FAILED), patient=True)
    assert failed is not None and "could not be started (late)" in failed.sentence
    failed = Progress(RUN, 2).look(jobs(DONE, submit=DONE), patient=True)
    assert failed is not None and "1 of 2 batches have no Job" in failed.sentence


def test_a_submit_job_may_come_late_but_not_for_ever() -> None:
    assert Progress(RUN, 2).look({}, patient=True) is None
    failed = Progress(RUN, 2).look({}, patient=False)
    assert failed is not None and "its submit Job is not there" in failed.sentence
