"""A PostgreSQL server for tests: in a directory of its own, on a port of this machine alone, and gone with the run."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from coordui.onebox.supervisor.claim import free_port
from tests.world import processes_with, until

USER = "coordui"


def programs() -> Path | None:
    """Where initdb and postgres are: Debian keeps them off PATH, by version. None: it is not installed."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    found += [Path(path).resolve().parent for path in [shutil.which("initdb")] if path]
    whole = [place for place in found if (place / "postgres").exists()]
    return max(whole, key=lambda place: int(place.parent.name) if place.parent.name.isdigit() else 0, default=None)


class Server:
    def __init__(self, programs: Path, directory: Path) -> None:
        self.programs, self.directory, self.data = programs, directory, directory / "data"
        self.port = free_port("127.0.0.1", 0)
        self.process: subprocess.Popen[bytes] | None = None
        self.made = 0

    def run(self, *command: str) -> list[str]:
        """The command as its user, for it refuses to be root's, and not outliving this process."""
        other = ["--reuid=postgres", "--regid=postgres", "--init-groups"] if os.getuid() == 0 else []
        return ["setpriv", *other, "--pdeathsig", "INT", "--", *command]

    def prepare(self) -> None:
        if os.getuid() == 0:
            found = pwd.getpwnam("postgres")
            os.chown(self.directory, found.pw_uid, found.pw_gid)
        words = ["-D", str(self.data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        command = self.run(str(self.programs / "initdb"), *words)
        subprocess.run(command, cwd=self.directory, check=True, timeout=60, stdout=subprocess.DEVNULL)

    def start(self) -> None:
        # Without fsync: only the machine's own end could lose what is written.
        words = ["-D", str(self.data), "-k", str(self.directory), "-h", "127.0.0.1", "-p", str(self.port), "-F"]
        with (self.directory / "log").open("ab") as log:
            command = self.run(str(self.programs / "postgres"), *words)
            self.process = subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=log)
        until(self.answers, 30)

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def url(self, name: str) -> str:
        return f"postgres://{USER}@127.0.0.1:{self.port}/{name}"

    def fresh(self) -> str:
        """The address of an empty database."""
        self.made += 1
        name = f"made_{self.made}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def end(self, how: signal.Signals) -> None:
        """SIGINT: an orderly end that waits for nobody. SIGKILL: what serves the connections ends with it."""
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.wait(30)
        self.process = None
        # The next one does not start while a process of the last one has its memory.
        until(lambda: not processes_with("COORDUI_NONE", "", self.data), 10)


@contextmanager
def server() -> Iterator[Server | None]:
    """None where PostgreSQL is not installed."""
    where = programs()
    if where is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="coordui-postgres-") as directory:
        made = Server(where, Path(directory))
        made.prepare()
        try:
            made.start()
            yield made
        finally:
            made.end(signal.SIGINT)
