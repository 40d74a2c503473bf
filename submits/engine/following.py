"""All Jobs of one run, kept current by a watch, with a fresh list whenever the watch is not to be trusted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from submits.gates.naming import ELB_JOB_ID
from submits.gates.ports import Cluster, Expired, Forbidden, Throttled, Unanswered

WATCH = 20
SILENT = 600.0


def follow(cluster: Cluster, run_id: str, seconds: int = WATCH) -> Iterator[dict[str, dict[str, Any]]]:
    """All Jobs of the run by name: at once, after every change, and at least every `seconds`.

    A list and the ordered changes after it are what the cluster held at one moment, so an absence is an absence. It
    lists again after each watch, so a lost event is made good then. Raises the cluster's own error when the cluster
    has not answered for 10 minutes, and at once when it forbids.
    """
    labels = f"{ELB_JOB_ID}={run_id}"
    answered = time.monotonic()
    pause = 0.2
    while True:
        try:
            listing = cluster.list("jobs", labels=labels)
            answered, pause = time.monotonic(), 0.2
            found = {job["metadata"]["name"]: job for job in listing.items}
            yield dict(found)
            for change in cluster.watch("jobs", listing.version, labels=labels, seconds=seconds):
                name = change.object["metadata"]["name"]
                if change.type == "DELETED":
                    found.pop(name, None)
                else:
                    found[name] = change.object
                yield dict(found)
        except Forbidden:
            raise
        except Expired:
            continue
        except (Unanswered, Throttled):
            if time.monotonic() - answered > SILENT:
                raise
            time.sleep(pause)
            pause = min(5.0, pause * 2)
