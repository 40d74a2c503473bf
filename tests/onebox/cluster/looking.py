"""What tests ask of Jobs, Pods and processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.onebox.cluster.fixtures import CORE, JOBS, MERGE, PODS, Client, Reply, until


def conditions(job: Any) -> list[tuple[str, str]]:
    """(type, reason) of those that are true, in their order."""
    return [(item["type"], item["reason"]) for item in job["status"].get("conditions", ()) if item["status"] == "True"]


def terminated(pod: Any) -> Any:
    return pod["status"]["containerStatuses"][0]["state"]["terminated"]


def pod_of(cluster: Client, job: str) -> Any:
    """The one Pod that the Job has, as soon as it has it."""
    (pod,) = until(lambda: cluster.pods_of(job))
    return pod


def running_pod(cluster: Client, job: str) -> Any:
    until(lambda: pod_of(cluster, job)["status"]["phase"] == "Running")
    return pod_of(cluster, job)


def ended_pod(cluster: Client, name: str) -> Any:
    """A Pod of its own, once it is over."""

    def look() -> Any:
        pod = cluster.call("GET", f"{PODS}/{name}").ok()
        return pod if pod["status"]["phase"] in ("Succeeded", "Failed") else None

    return until(look)


def make_pod(cluster: Client, name: str, *containers: Any, **spec: Any) -> Any:
    """Of containers that are given as dicts; those without a name are called c, c1, c2."""
    made = [{"name": f"c{index or ''}", "image": "none", **container} for index, container in enumerate(containers)]
    body = {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": made, **spec}}
    return cluster.call("POST", PODS, body).ok()


def sh(script: str, **container: Any) -> Any:
    return {"command": ["sh", "-c", script], **container}


def pod_log(cluster: Client, name: str, **query: str) -> Reply:
    words = "&".join(f"{key}={value}" for key, value in query.items())
    return cluster.call("GET", f"{PODS}/{name}/log?{words}")


def log(cluster: Client, job: str, **query: str) -> str:
    return str(pod_log(cluster, pod_of(cluster, job)["metadata"]["name"], **query).ok())


def waiting(pod: Any) -> Any:
    """Why the first container waits, as (reason, message)."""
    for item in pod["status"].get("containerStatuses", ()):
        if state := item["state"].get("waiting"):
            return state["reason"], state.get("message", "")
    return None


def reasons(cluster: Client, obj: Any) -> list[str]:
    """Of the events about an object, oldest first."""
    selector = f"involvedObject.uid%3D{obj['metadata']['uid']}"
    events = cluster.call("GET", f"{CORE}/events?fieldSelector={selector}").ok()["items"]
    return [event["reason"] for event in sorted(events, key=lambda event: int(event["metadata"]["resourceVersion"]))]


def patch_job(cluster: Client, name: str, **spec: Any) -> Any:
    return cluster.call("PATCH", f"{JOBS}/{name}", {"spec": spec}, MERGE).ok()


def remove_job(cluster: Client, name: str) -> None:
    cluster.call("DELETE", f"{JOBS}/{name}?propagationPolicy=Background").ok()


def alive(*argv: str) -> bool:
    """Whether a process with exactly these arguments runs; its leash, which has more, does not count."""
    wanted = "".join(f"{word}\0" for word in argv).encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == wanted:
                return True
        except OSError:
            continue
    return False


def look_again(cluster: Client, name: str) -> None:
    """A change to a Job makes its controller look."""
    cluster.call("PATCH", f"{JOBS}/{name}", {"metadata": {"annotations": {"looked": "again"}}}, MERGE).ok()
