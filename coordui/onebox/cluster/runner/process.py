"""One container's process, below a leash of its own: when this server dies, however it dies, the leash kills it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .logfile import LogFile
from .podspec import Command

_CHUNK = 65536


@cache
def leash_program() -> str:
    """submits/leash.py: run, never imported."""
    spec = importlib.util.find_spec("submits")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (found := Path(place) / "leash.py").is_file():
            return str(found)
    raise RuntimeError("submits/leash.py is missing: the installation is incomplete")


class Process:
    """Started at once; calls `ended(self, exit code)` when the leash has seen to it that nothing is left.

    An end that nobody asked for is in the file `result` by then, also when this server is not there to hear of it.
    """

    def __init__(self, command: Command, log: LogFile, result: Path, ended: Callable[[Process, int], None]) -> None:
        self.log = log
        self.out_of_memory = False
        self.leash_was_killed = False
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._output, output = os.pipe2(os.O_CLOEXEC)
        try:
            self._leash = subprocess.Popen(
                [sys.executable, "-I", "-S", leash_program(), "--result", str(result), "--", *command.argv],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                cwd=command.cwd,
                env=command.env,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._output)
            raise
        finally:
            os.close(output)
        fcntl.fcntl(self._output, fcntl.F_SETFL, os.O_NONBLOCK)
        self._ending = os.pidfd_open(self._leash.pid)
        self._loop.add_reader(self._output, self._read)
        self._loop.add_reader(self._ending, self._end)

    @property
    def pid(self) -> int:
        return self._leash.pid

    def terminate(self, grace: float) -> None:
        """SIGTERM to everything, SIGKILL after the grace (seconds); 0: SIGKILL at once."""
        if self._leash.stdin is not None and not self._leash.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._leash.stdin.write(f"term {grace:g}\n".encode())
                self._leash.stdin.flush()

    def kill(self) -> None:
        """SIGKILL to the leash, for when it does nothing any more; what is below it is the caller's to find."""
        self._leash.kill()

    def run_out_of_memory(self) -> None:
        self.out_of_memory = True
        self.terminate(0)

    def _read(self) -> None:
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self.log.write(data)
        else:
            self._loop.remove_reader(self._output)

    def _end(self) -> None:
        self._loop.remove_reader(self._ending)
        os.close(self._ending)
        code = self._leash.wait()
        self._loop.remove_reader(self._output)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output, _CHUNK):
                self.log.write(data)
        os.close(self._output)
        if self._leash.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._leash.stdin.close()
        self.leash_was_killed = code < 0
        self._ended(self, code if code >= 0 else 128 - code)
