"""The Jobs by which the gates see a search that `elastic-blast` has submitted: ours, and whether its own are right."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from submits.blast.facts import DatabaseFacts
from submits.engine import jobs, volumes
from submits.engine.external.settings import Handed
from submits.engine.jobs import Body, Names
from submits.engine.settings import Settings
from submits.engine.volumes import Mount
from submits.gates import naming
from submits.gates.counting import is_finalizer
from submits.gates.objects import labels
from submits.gates.ports import Cluster

READER = "read"  # the label app of a Pod of ours that no gate counts
_IDS = re.compile(r"\bjob-[0-9a-f][0-9a-f-]{7,}\b")


def follower(
    run_id: str, handed: Handed, settings: Settings, work: Path | None, database: DatabaseFacts, longest: int
) -> Body:
    """The Job that follows the search to its end, reads its results and writes the outcome.

    Where the program makes no finalizer this is the finalizer; where it does, no gate may count this one beside it.
    `longest` is how many seconds the program gives a search; what ours may take comes on top, to be started and read.
    """
    body = jobs.finalizer(run_id, 0, settings, work)
    body["spec"]["activeDeadlineSeconds"] = longest + settings.deadline
    del body["metadata"]["annotations"]  # how many batches there will be is the program's own decision
    template = body["spec"]["template"]
    if handed.markers == "cli":
        body["metadata"]["name"] = f"elb-read-{Names(run_id).hash}-{handed.attempt}"
        for meta in (body["metadata"], template["metadata"]):
            meta["labels"] = {naming.APP: READER, naming.ELB_JOB_ID: run_id}
    (container,) = template["spec"]["containers"]
    container["command"] = [
        container["command"][0], "follow", "--work", settings.work_url, "--run", run_id, "--attempt", handed.attempt,
    ]  # fmt: skip
    results = _directory(handed.at)
    for mount in [
        *([Mount("results", results)] if results else []),
        volumes.database(database, settings, body["metadata"]["name"]),
    ]:
        container["volumeMounts"].append(mount.mount)
        template["spec"]["volumes"].append(mount.volume)
    if results is None and settings.work_secret:
        container["envFrom"] = [{"secretRef": {"name": settings.work_secret}}]
    return body


def _directory(url: str) -> Path | None:
    parsed = urlsplit(url)
    return Path(unquote(parsed.path)) if parsed.scheme in ("", "file") else None


def wrong(cluster: Cluster, run_id: str, said: str) -> str:
    """What is wrong with the finalizer that the program should have made; "" when all is right. `said`: its own words.

    Raises ClusterError.
    """
    found = cluster.list("jobs", labels=naming.of_run(run_id)).items
    finalizer = next((job for job in found if is_finalizer(job)), None)
    if finalizer is None:
        others = sorted(set(_IDS.findall(said)) - {run_id})
        claim = f"; it says that the search is {', '.join(others)}" if others else ""
        return (
            f"it was told the id {run_id}, but no finalizer in namespace {cluster.namespace} has that id{claim}. "
            "It may have written to another cluster or namespace, or under an id of its own."
        )
    template = finalizer["spec"]["template"]
    if labels(template).get(naming.ELB_JOB_ID) != run_id:
        return "the Pods of its finalizer do not carry the id, so a cancel cannot prove that they are gone"
    return ""
