"""A connection that is kept from try to try: when it is gone on with, and when another is made."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from submits.cluster import ApiCluster, Connection, kept
from submits.cluster.connection import NotConfigured
from submits.cluster.kept import Kept, Lasting
from submits.gates.ports import Unanswered
from tests.cluster.test_wire import kubeconfig
from tests.onebox.cluster.fixtures import RunningCluster


@pytest.fixture
def here(server: RunningCluster, tmp_path: Path) -> Connection:
    shutil.copy(server.kubeconfig, tmp_path / "kubeconfig")
    return Connection(str(tmp_path / "kubeconfig"), "default")


def sockets(cluster: ApiCluster) -> Any:
    """urllib3's pool for the server's address."""
    assert isinstance(cluster.transport, Lasting)
    return cluster.transport.pool.connection_from_url(cluster.transport.configuration.host)


def test_tries_of_one_process_go_on_with_one_connection(here: Connection) -> None:
    process = Kept()
    for _ in range(3):
        cluster = process.connect(here)
        cluster.list("jobs")
        assert json.loads(process.pinned(here))["contexts"][0]["context"]["namespace"] == "default"
    assert (sockets(cluster).num_connections, sockets(cluster).num_requests) == (1, 3)
    elsewhere = process.connect(Connection(here.kubeconfig, "other"))
    assert elsewhere.namespace == "other" and elsewhere.transport is not cluster.transport
    assert process.connect(here).transport is cluster.transport


def test_a_kubeconfig_that_was_written_since_is_read_again(here: Connection, server: RunningCluster) -> None:
    process, path = Kept(), Path(str(here.kubeconfig))
    before, pinned = process.connect(here), process.pinned(here)
    path.write_text(path.read_text().replace(server.token, "another-token"))
    assert process.connect(here).transport is not before.transport
    assert "another-token" in process.pinned(here) and "another-token" not in pinned
    path.unlink()
    with pytest.raises(NotConfigured):
        process.connect(here)


def test_a_pods_credential_that_was_renewed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COORDUI_SERVICEACCOUNT", str(tmp_path))
    states = []
    for text in ("", "one", "another"):
        for name in ("token", "ca.crt"):
            (tmp_path / name).write_text(text + name)
            states.append(kept.state_of(Connection(None, "default")))
    assert len(set(states)) == 6


def test_after_a_request_without_an_answer_the_next_try_has_another(here: Connection, server: RunningCluster) -> None:
    process = Kept()
    before = process.connect(here)
    server.faults.add("drop_request", method="GET", path="/jobs", times=1)
    with pytest.raises(Unanswered):
        before.list("jobs")
    assert before.list("jobs").version  # the try itself may go on with it
    after = process.connect(here)
    assert after.transport is not before.transport
    after.list("jobs")
    assert process.connect(here).transport is after.transport


def test_a_socket_that_was_idle_for_long_is_not_relied_on(here: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Kept().connect(here)
    cluster.list("jobs")
    before = sockets(cluster)
    monkeypatch.setattr(kept, "IDLE", -1.0)
    cluster.list("jobs")
    assert sockets(cluster) is not before


@pytest.fixture
def brief(tmp_path: Path) -> Iterator[tuple[Connection, threading.Semaphore]]:
    """A server that closes each connection after one answer without saying so; released whenever it has."""
    closed = threading.Semaphore(0)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = b'{"metadata": {"resourceVersion": "1"}, "items": []}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, *words: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            closed.release()

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01]).start()
    yield kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{server.server_port}"), closed
    server.shutdown()
    server.server_close()


def test_a_socket_that_the_server_has_closed_meanwhile_costs_no_answer(
    brief: tuple[Connection, threading.Semaphore],
) -> None:
    connection, closed = brief
    process = Kept()
    for _ in range(3):
        assert process.connect(connection).list("jobs").version == "1"
        assert closed.acquire(timeout=10)
    assert sockets(process.connect(connection)).num_requests == 3


def test_a_child_after_a_fork_has_a_connection_of_its_own(here: Connection) -> None:
    process = Kept()
    cluster = process.connect(here)
    cluster.list("jobs")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            own = process.connect(here)
            own.list("jobs")
            os.write(writer, f"{own.transport is not cluster.transport}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as said:
        assert said.read() == "True"
    cluster.list("jobs")
    assert sockets(cluster).num_connections == 1
