from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from coordui.onebox.cluster.bodies import schema
from submits.cluster import ApiCluster, Connection, connect
from submits.gates.ports import Kind, NotFound
from submits.hints import HINTS, Message
from tests.onebox.cluster.fixtures import RunningCluster, running_cluster
from tests.onebox.running import Running
from tests.postgres import Server
from tests.postgres import server as postgres_server

KINDS: tuple[Kind, ...] = ("jobs", "leases", "configmaps")
NOTES = pytest.StashKey[list[tuple[str, str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[NOTES] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Stories first: they wait most, and one that begins last would keep all workers waiting."""
    items.sort(key=lambda item: "/story/" not in str(item.path))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker of a parallel run: hand its notes to the process that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["notes"] = session.config.stash[NOTES]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[NOTES] += map(tuple, getattr(node, "workeroutput", {}).get("notes", []))


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str, object], None]:
    """Puts a line into the table that is printed at the end of the run."""
    notes = request.config.stash[NOTES]
    return lambda what, value: notes.append((what, str(value)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    notes = config.stash[NOTES]
    if notes:
        terminalreporter.section("what was measured")
        width = max(len(what) for what, _ in notes)
        for what, value in notes:
            terminalreporter.write_line(f"{what:<{width}}  {value}")


@pytest.fixture(scope="session", autouse=True)
def hints_go_nowhere() -> None:
    """No store runs beside the tests; one that wants hints sends them itself."""

    async def nowhere(group: str, message: Message) -> None:
        pass

    HINTS.send = nowhere


@pytest.fixture
def up() -> Iterator[Callable[..., Running]]:
    """Starts `manage.py up` with the given words; whatever is left of it at the end is killed."""
    started: list[Running] = []

    def start(*words: str, **environment: str) -> Running:
        started.append(Running(words, environment))
        return started[-1]

    yield start
    for running in started:
        running.kill()
    for running in started:
        running.is_gone()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """An embedded cluster for a module's tests."""
    schema.load()  # once a process: the gates' times are scaled down, and a first write would wait for it
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def cluster(server: RunningCluster) -> Iterator[ApiCluster]:
    """The adapter, connected to it; faults and what a test has made are gone afterwards."""
    connected = connect(Connection(str(server.kubeconfig), "default"))
    yield connected
    server.faults.clear()
    for kind in KINDS:
        for found in connected.list(kind).items:
            with contextlib.suppress(NotFound):
                connected.delete(kind, found["metadata"]["name"])


@pytest.fixture(scope="session")
def perhaps_postgres() -> Iterator[Server | None]:
    """A PostgreSQL server of the run's own; None where it is not installed."""
    with postgres_server() as running:
        yield running


@pytest.fixture
def postgres(perhaps_postgres: Server | None) -> Server:
    if perhaps_postgres is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return perhaps_postgres
