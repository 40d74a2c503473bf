"""An embedded cluster in this process, for any test: real TLS, a port of the system's choice, Jobs that really run.

from tests.onebox.cluster.fixtures import embedded_cluster   # in a conftest

def test_something(embedded_cluster):
    reply = embedded_cluster.call("GET", "/api/v1/namespaces/default/configmaps")
"""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop

from coordui.onebox.cluster.access import credentials
from coordui.onebox.cluster.clock import Clock
from coordui.onebox.cluster.core import Core
from coordui.onebox.cluster.faults import Faults
from coordui.onebox.cluster.server import ClusterServer, Settings

T = TypeVar("T")
JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
CORE = "/api/v1/namespaces/default"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CONFIGMAPS = f"{CORE}/configmaps"
PODS = f"{CORE}/pods"


@dataclass(frozen=True)
class Reply:
    code: int
    body: Any  # the JSON, or the text of what is no JSON
    headers: dict[str, str]

    def ok(self) -> Any:
        assert self.code < 300, (self.code, self.body)
        return self.body


def until(look: Callable[[], T], seconds: float = 15.0) -> T:
    """What `look` returns once it is true; looks every 5 ms, fails after the given time."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"not within {seconds} s: {found!r}"
        time.sleep(0.005)
    return found


@dataclass
class Client:
    """Plain HTTP to one server; a connection a request, so any thread may call. A test that says `default` in a path
    means the namespace it is given."""

    url: str
    token: str
    ca: Path

    @property
    def namespace(self) -> str:
        return "default"

    @property
    def image(self) -> str:
        """What the containers of Jobs run in; here there are none."""
        return "none"

    def context(self) -> ssl.SSLContext:
        return _tls(str(self.ca))

    def here(self, path: str) -> str:
        return path.replace("/namespaces/default/", f"/namespaces/{self.namespace}/")

    @contextmanager
    def connection(self, timeout: float) -> Iterator[http.client.HTTPSConnection]:
        host, _, port = self.url.removeprefix("https://").partition(":")
        connection = http.client.HTTPSConnection(host, int(port or 443), timeout=timeout, context=self.context())
        try:
            yield connection
        finally:
            connection.close()

    def headers(self, more: dict[str, str]) -> dict[str, str]:
        known = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"User-Agent": "tests/1", **known, **more}

    def call(
        self, method: str, path: str, body: Any = None, kind: str = JSON, *, timeout: float = 10, **headers: str
    ) -> Reply:
        """`headers` in Python's spelling: accept="…"."""
        with self.kept(timeout) as call:
            return call(method, path, body, kind, **headers)

    @contextmanager
    def kept(self, timeout: float = 10) -> Iterator[Callable[..., Reply]]:
        """`call` on one connection for all its calls; of one thread."""
        with self.connection(timeout) as connection:

            def call(method: str, path: str, body: Any = None, kind: str = JSON, **headers: str) -> Reply:
                data = None if body is None else json.dumps(body)
                connection.request(method, self.here(path), data, self.headers({"Content-Type": kind, **headers}))
                answer = connection.getresponse()
                text = answer.read().decode()
                found = json.loads(text) if "json" in (answer.getheader("content-type") or "") else text
                names = {key.lower() for key in answer.headers}
                return Reply(answer.status, found, {key: ", ".join(answer.headers.get_all(key, ())) for key in names})

            yield call

    @contextmanager
    def stream(self, path: str, *, timeout: float = 10, **headers: str) -> Iterator[Iterator[str]]:
        """The lines of an answer as they come."""
        with self.connection(timeout) as connection:
            connection.request("GET", self.here(path), headers=self.headers(headers))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield (line.decode() for line in answer)

    def events(self, path: str, count: int, *, timeout: float = 10, **headers: str) -> list[tuple[str, Any]]:
        """The first `count` events of a watch, as (type, object)."""
        found = []
        with self.stream(path, timeout=timeout, **headers) as lines:
            for line in lines:
                event = json.loads(line)
                found.append((event["type"], event["object"]))
                if len(found) == count:
                    break
        return found

    def job(self, name: str, *command: str, **spec: Any) -> Any:
        """A Job of one container; `container` and `pod` among `spec` go where they belong."""
        container = {"name": "c", "image": self.image, **spec.pop("container", {})}
        if command:
            container["command"] = list(command)
        pod = {"restartPolicy": "Never", "containers": [container], **spec.pop("pod", {})}
        labels = spec.pop("labels", {})
        body = {"metadata": {"name": name, "labels": labels}, "spec": {"template": {"spec": pod}, **spec}}
        return self.call("POST", JOBS, body).ok()

    def job_condition(self, name: str, *kinds: str, seconds: float = 15) -> Any:
        """The Job once one of these conditions is true."""

        def look() -> Any:
            job = self.call("GET", f"{JOBS}/{name}").ok()
            held = {item["type"] for item in job["status"].get("conditions", ()) if item["status"] == "True"}
            return job if held & set(kinds) else None

        return until(look, seconds)

    def pods_of(self, job: str) -> list[Any]:
        found: list[Any] = self.call("GET", f"{PODS}?labelSelector=job-name%3D{job}").ok()["items"]
        return found


@cache
def _tls(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca)


class Cluster(Client):
    """What the conformance tests run on: the embedded cluster or, without these three, any other (see remote.py)."""

    state: Path
    faults: Faults

    def inside(self, work: Callable[[Core], T]) -> T:
        """What `work` makes of the server's parts, in the server's own thread."""
        raise AssertionError("a cluster somewhere else has no inside that a test can reach")


@dataclass
class RunningCluster(Cluster):
    kubeconfig: Path
    state: Path
    faults: Faults = field(repr=False)
    server: ClusterServer = field(repr=False)
    loop: asyncio.AbstractEventLoop = field(repr=False)

    def inside(self, work: Callable[[Core], T]) -> T:
        async def do() -> T:
            return work(self.server.core)

        return asyncio.run_coroutine_threadsafe(do(), self.loop).result(30)


@cache
def _certificates() -> tuple[str, str]:
    return credentials.make_certificates()


def _prepare(state: Path) -> None:
    """Certificates are made once a test run: that is most of a first start's time."""
    place = state / "cluster"
    if not place.exists():
        place.mkdir(parents=True, mode=0o700)
        authority, key_and_certificate = _certificates()
        credentials.write_private(place / "ca.crt", authority)
        credentials.write_private(place / "server.pem", key_and_certificate)


@contextmanager
def running_cluster(state: Path, **settings: Any) -> Iterator[RunningCluster]:
    """A cluster on that state directory, in a thread; the same directory may be used again afterwards."""
    _prepare(state)
    faults = Faults(Clock())
    server = ClusterServer(Settings(state, **settings), faults)
    started, failed = threading.Event(), []
    loops: list[asyncio.AbstractEventLoop] = []
    stop = asyncio.Event()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        try:
            await server.start()
            started.set()
            await stop.wait()
        finally:
            await server.stop()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(serve())
        except BaseException as why:
            failed.append(why)
        finally:
            started.set()

    thread = threading.Thread(target=run, name="embedded cluster")
    thread.start()
    started.wait(30)
    try:
        if failed:
            raise failed[0]
        found = server.credentials
        yield RunningCluster(server.url, found.token, found.ca, server.kubeconfig, state, faults, server, loops[0])
    finally:
        if thread.is_alive():
            loops[0].call_soon_threadsafe(stop.set)
        thread.join(30)
        assert not thread.is_alive(), "the embedded cluster did not stop"


@pytest.fixture
def embedded_cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path / "state") as cluster:
        yield cluster
