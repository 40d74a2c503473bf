"""The embedded cluster: starts, memory, rates over TLS and in-process, lists among 20,000 Jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from coordui.onebox.cluster.access.credentials import make_certificates
from coordui.onebox.cluster.clock import Clock
from coordui.onebox.cluster.core import Core
from coordui.onebox.cluster.inprocess import LocalCluster, LocalTimers
from coordui.onebox.cluster.storage.objects import clone
from coordui.onebox.cluster.storage.resources import JOBS as JOB_RESOURCE
from tests.bench.measures import Measure, median_ms, rate, resident, seconds
from tests.onebox.cluster.fixtures import CONFIGMAPS, JOBS, LEASES, MERGE, Client, running_cluster
from tests.world import REPOSITORY, until

JOBS_KEPT = 20_000
BATCH = 300
CALLS = 1_000
ALONE = [sys.executable, "-m", "coordui.onebox.cluster"]
MANAGED = [sys.executable, "manage.py", "cluster"]
GATES_LIST = f"{JOBS}?labelSelector={quote('app in (finalizer,blast,submit)')}&fieldSelector=status.successful%3D0"


def measures() -> list[Measure]:
    return [*starts(), *fixture(), *rates(), *inprocess(), *lists()]


@contextmanager
def program(state: Path, command: list[str], *words: str) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """The cluster as a process of its own, once it has said that it is ready."""
    words = ("--state", str(state), *words)
    with subprocess.Popen([*command, *words], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[3].rstrip(";")
            token = (state / "cluster" / "token").read_text().strip()
            yield process, Client(url, token, state / "cluster" / "ca.crt")
        finally:
            process.terminate()


def starts() -> Iterator[Measure]:
    """From the start of the process to /readyz, and its memory before and after the first write."""
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as folder:
        for name, command in (("first start", ALONE), ("second start", ALONE), ("manage.py cluster", MANAGED)):
            begun = time.perf_counter()
            with program(Path(folder), command) as (process, client):
                client.call("GET", "/readyz").ok()
                taken, busy = time.perf_counter() - begun, ticks(process.pid) / os.sysconf("SC_CLK_TCK")
                yield Measure(f"cluster, {name}: to /readyz", taken, "s", 0.5, f"{busy:.2f} s of processor time")
                yield Measure(f"cluster, {name}: memory", resident(process.pid), "MB", 80)
                if command is MANAGED:
                    client.call("POST", LEASES, {"metadata": {"name": "first"}}).ok()
                    yield Measure("cluster, after its first write: memory", resident(process.pid), "MB")


def fixture() -> Iterator[Measure]:
    """In this process, certificates made."""
    started: list[float] = []
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as folder:
        for number in range(21):
            begun = time.perf_counter()
            with running_cluster(Path(folder) / str(number)):
                started.append((time.perf_counter() - begun) * 1000)
    yield Measure("cluster in-process: start", sorted(started[1:])[10], "ms", 20)


def rates() -> Iterator[Measure]:
    """One client on one kept connection, against a process of its own, over TLS."""
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as folder:
        with hello(Path(folder)) as bound, bound.kept() as call:
            best = rate(lambda _: call("GET", "/"), CALLS)
        beside = f"{best:.0f}/s: hello by uvicorn over TLS"
        with program(Path(folder) / "state", ALONE) as (_, client), client.kept() as call:
            call("POST", LEASES, {"metadata": {"name": "one"}, "spec": {"holderIdentity": "a"}}).ok()
            got = rate(lambda _: call("GET", f"{LEASES}/one").ok(), CALLS)
            yield Measure("GET of a Lease", got, "/s", None, beside)
            patch: Callable[[int], Any] = lambda number: call(  # noqa: E731
                "PATCH", f"{LEASES}/one", {"spec": {"holderIdentity": str(number)}}, MERGE
            ).ok()
            yield Measure("patch of a Lease", rate(patch, CALLS), "/s", None, beside)
            yield Measure("from a write to its event, median", event_delay(client), "ms")


@contextmanager
def hello(folder: Path) -> Iterator[Client]:
    authority, key_and_certificate = make_certificates()
    ca, pem = folder / "ca.crt", folder / "server.pem"
    ca.write_text(authority)
    pem.write_text(key_and_certificate)
    words = ["--port", "0", "--ssl-keyfile", str(pem), "--ssl-certfile", str(pem), "--http", "httptools"]
    command = [sys.executable, "-m", "uvicorn", "tests.bench.hello:app", "--no-access-log", *words]
    with subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = until(lambda: next(line for line in process.stderr or () if "running on" in line), 30)
            yield Client(line.split("running on ")[1].split()[0], "", ca)
        finally:
            process.terminate()


def event_delay(client: Client) -> float:
    delays: list[float] = []
    with client.stream(f"{CONFIGMAPS}?watch=1&labelSelector=w&timeoutSeconds=30") as lines, client.kept() as call:
        for number in range(50):
            call("POST", CONFIGMAPS, {"metadata": {"name": f"w{number}", "labels": {"w": "1"}}}).ok()
            delays.append(seconds(lambda: json.loads(next(lines))) * 1000)
    return sorted(delays)[25]


def inprocess() -> Iterator[Measure]:
    cluster = LocalCluster()
    for number in range(5):
        cluster.call("POST", JOBS, body=job(f"job-{number}"))
    cluster.call("POST", LEASES, body={"metadata": {"name": "one"}, "spec": {"holderIdentity": "a"}})
    path = GATES_LIST.partition("?")[0]
    asked = {"labelSelector": "app in (finalizer,blast,submit)", "fieldSelector": "status.successful=0"}
    merge = {"content-type": MERGE}
    works: dict[str, Callable[[int], object]] = {
        "GET of a Lease": lambda _: cluster.call("GET", f"{LEASES}/one"),
        "patch of a Lease": lambda number: cluster.call(
            "PATCH", f"{LEASES}/one", headers=merge, body={"spec": {"holderIdentity": str(number)}}
        ),
        "the gates' LIST among 5 Jobs": lambda _: cluster.call("GET", path, asked),
    }
    for name, work in works.items():
        yield Measure(f"{name}, without a socket", rate(work, CALLS), "/s")
    cluster.close()


def job(name: str, **labels: str) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none", "command": ["true"]}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"parallelism": 0, "template": {"spec": pod}}}


def lists() -> Iterator[Measure]:
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as folder:
        state = Path(folder)
        with program(state, ALONE) as (_, client):
            made = client.call("POST", JOBS, job("pattern")).ok()
            client.call("DELETE", f"{JOBS}/pattern?propagationPolicy=Background").ok()
        fill(state / "cluster" / "cluster.sqlite3", made)
        with program(state, ALONE) as (process, client), client.kept(60) as call:
            until(lambda: idle(process.pid), 300)  # at its start the Job controller looks at every Job
            batch = f"{JOBS}?labelSelector=batch%3Db7"
            assert len(call("GET", batch).ok()["items"]) == BATCH
            assert len(call("GET", GATES_LIST).ok()["items"]) == 2
            among = f"among {JOBS_KEPT:,} finished Jobs, median"
            with client.connection(60) as connection:

                def get(path: str) -> Callable[[], object]:
                    """The answer's bytes: what the client then makes of them is not the server's time."""

                    def work() -> bytes:
                        connection.request("GET", path, headers=client.headers({}))
                        return connection.getresponse().read()

                    return work

                yield Measure(f"LIST of {BATCH} by label {among}", median_ms(get(batch)), "ms", 50)
                yield Measure(f"the gates' LIST {among}", median_ms(get(GATES_LIST)), "ms", 50)
                yield Measure(f"a page of 500 {among}", median_ms(get(f"{JOBS}?limit=500")), "ms")


def idle(pid: int) -> bool:
    before = ticks(pid)
    time.sleep(0.2)
    return ticks(pid) - before <= 1


def ticks(pid: int) -> int:
    """Of the processor's clock, used up by a process."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().split()[13:15]))


def fill(database: Path, made: dict[str, Any]) -> None:
    """Finished Jobs as if each had been made and run: all of them the gates' own, two without success."""
    clock = Clock()
    core = Core(database, clock, timers=LocalTimers(clock))
    pattern = {key: value for key, value in made.items() if key not in ("kind", "apiVersion")}
    with core.store.transaction():
        for number in range(JOBS_KEPT):
            found = clone(pattern)
            app = ("finalizer", "blast", "submit")[number % 3]
            found["metadata"] |= {"name": f"job-{number:05}", "uid": f"uid-{number}"}
            found["metadata"]["labels"] = {"app": app, "batch": f"b{number // BATCH}"}
            found["status"] = {"failed": 1} if number in (77, 88) else {"succeeded": 1}
            core.store.add(JOB_RESOURCE, found)
    core.close()
