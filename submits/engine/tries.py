"""Asking the cluster again when it did not answer: creates that may have happened, and only those."""

from __future__ import annotations

import time

from submits.engine.errors import EngineError, Exit
from submits.engine.jobs import Body
from submits.gates.naming import ELB_JOB_ID
from submits.gates.ports import AlreadyExists, Cluster, Throttled, Unanswered

TRIES = 4
PAUSE = 0.5  # seconds before the second try; doubles


def create(cluster: Cluster, body: Body, unanswered: list[str] | None = None) -> tuple[Body, bool]:
    """The Job as the cluster has it, and whether it may be this call that made it. A request that had no answer is
    noted in `unanswered`, by the Job's name: it may arrive much later, also when another has been answered since.

    One that exists under this name with the same run id is the same Job (an earlier try, or an answer that got lost);
    with another id it is an EngineError. Unanswered and throttled creates are tried again, 4 times in about 4 seconds.
    """
    name = body["metadata"]["name"]
    asked = False
    for attempt in range(TRIES):
        try:
            return cluster.create("jobs", body).object, True
        except AlreadyExists:
            there = cluster.get("jobs", name).object
            wanted = body["metadata"]["labels"]
            if any(there["metadata"].get("labels", {}).get(key) != wanted[key] for key in (ELB_JOB_ID, "app")):
                sentence = f"there is another search's Job of the name {name}"
                raise EngineError(Exit.CLUSTER, sentence) from None
            return there, asked
        except (Unanswered, Throttled) as error:
            if isinstance(error, Unanswered):
                asked = True
                if unanswered is not None:
                    unanswered.append(name)
            if attempt == TRIES - 1:
                raise
            time.sleep(min(2.0, error.retry_after) if isinstance(error, Throttled) else PAUSE * 2**attempt)
    raise AssertionError("unreachable")
