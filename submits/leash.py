"""A leash: runs a command below itself and leaves nothing behind. A program, run and never imported.

    python -I -S leash.py [--within SECONDS [--since T]] [--grace SECONDS] [--result FILE] -- COMMAND [ARGUMENT ...]

Standard input is the leash's pipe; the one who holds its other end is the *holder*. What it reads there, line by line:

    beat T     (only with --within) T is the holder's CLOCK_BOOTTIME, in seconds, when its last accepted
               heartbeat was *sent*: everything below is killed at T + SECONDS; the first T is --since (or now),
               and when that deadline has passed already the command is not started
    term [S]   SIGTERM to everything below, SIGKILL after S seconds (without S the grace); 0 is SIGKILL at once

1. It makes a session of its own and becomes the reaper of all its descendants (PR_SET_CHILD_SUBREAPER).
2. It starts the command, whose standard input is empty and which dies with the leash (PR_SET_PDEATHSIG).
3. It waits for the first of: the command's end, the end of the pipe, the deadline, `term` or a SIGTERM.
4. It kills whatever is still below it, again and again, until nothing is left, and only then ends itself:
   with the command's exit status (128 + signal if it was killed), or 124 when the deadline or the pipe's end
   killed it, saying so in one line on standard error. An end that nobody asked for is written to --result first,
   whole or not at all: what a holder that died meanwhile can still learn.

The guarantee: when the holder dies, however it dies, or stays silent too long, nothing it started goes on.
The limit: a leash that is itself stopped kills nobody, and of a leash that is SIGKILLed only the command dies
with it, not what the command started.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LAPSED = 124
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def descendants() -> list[int]:
    """Every process below this one, by /proc: orphans have become our own children, so the tree is whole."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as stat:
                # The name in parentheses may hold spaces and parentheses; what follows the last one does not.
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry))
    below, ahead = [], [os.getpid()]
    while ahead:
        children = parents.get(ahead.pop(), [])
        below += children
        ahead += children
    return below


def send_all(sig: signal.Signals) -> None:
    for pid in descendants():
        try:
            os.kill(pid, sig)
        except (ProcessLookupError, PermissionError):  # gone; or another user's, by a setuid program
            pass


def reap() -> dict[int, int]:
    """Collect everything that has ended below us: pid -> wait status."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def kill_until_nothing_is_left() -> None:
    """A process that forks while we look is found on the next round; the pause keeps a round from being a spin."""
    reap()
    while descendants():
        send_all(signal.SIGKILL)
        time.sleep(0.005)
        reap()


def start(command: list[str]) -> int:
    # A `term` that arrives between fork and exec must not meet our own, silent handler in the child and be lost there.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        return pid
    try:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        signal.set_wakeup_fd(-1)
        for sig in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(sig, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.closerange(3, 256)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"leash: cannot run {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


class Leash:
    def __init__(self, child: int, within: float | None, since: float, grace: float) -> None:
        self.child, self.within, self.grace = child, within, grace
        self.deadline = None if within is None else since + within
        self.kill_at: float | None = None
        self.why = ""
        self.buffer = b""

    @staticmethod
    def now() -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def terminate(self, grace: float) -> None:
        """A second `term` may shorten the first one's grace."""
        if self.kill_at is None and grace > 0:
            send_all(signal.SIGTERM)
        self.kill_at = min(self.now() + grace, self.kill_at or float("inf"))

    def read(self) -> None:
        data = os.read(0, 65536)
        if not data:
            self.why = "its holder is gone"
            return
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            word, _, value = line.partition(b" ")
            if word == b"beat" and self.within is not None:
                # An old beat, read late, must not shorten what a newer one gave.
                self.deadline = max(self.deadline or 0.0, float(value) + self.within)
            elif word == b"term":
                self.terminate(float(value) if value else self.grace)

    def wait(self, wake: int) -> int | None:
        """The command's wait status, or None with `why` set when the leash has to kill."""
        while True:
            status = reap().get(self.child)
            if status is not None:
                return status
            ends = [end for end in (self.deadline, self.kill_at) if end is not None]
            left = max(0.0, min(ends) - self.now()) if ends else 3600.0
            # Poll at most every 5 s: select() sleeps on a clock that stands still while the machine is suspended.
            ready, _, _ = select.select([0, wake], [], [], min(left, 5.0))
            if wake in ready and signal.SIGTERM in os.read(wake, 4096):
                self.terminate(self.grace)
            if 0 in ready:
                self.read()
            if self.why:
                return reap().get(self.child)  # it may have ended by itself meanwhile
            if self.kill_at is not None and self.now() >= self.kill_at:
                send_all(signal.SIGKILL)
            if self.deadline is not None and self.now() >= self.deadline:
                self.why = f"no accepted heartbeat for {self.within:g} s"
                return None


def write_result(path: str, code: int) -> None:
    with open(path + ".new", "w") as file:
        file.write(f"{code}\n")
    os.rename(path + ".new", path)


def arguments(words: list[str]) -> tuple[float | None, float, float, str, list[str]]:
    within, since, grace, result = None, Leash.now(), 5.0, ""
    while words and words[0] != "--":
        if words[0] == "--within":
            within = float(words[1])
        elif words[0] == "--since":
            since = float(words[1])
        elif words[0] == "--grace":
            grace = float(words[1])
        elif words[0] == "--result":
            result = words[1]
        else:
            sys.exit(f"leash: unknown argument {words[0]}")
        words = words[2:]
    if len(words) < 2:
        sys.exit("leash: no command")
    return within, since, grace, result, words[1:]


def main() -> int:
    within, since, grace, result, command = arguments(sys.argv[1:])
    try:
        os.setsid()
    except PermissionError:
        pass  # already the leader of a session: the one who started us saw to it
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    wake, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if within is not None and Leash.now() >= since + within:
        os.write(2, b"leash: not started: no accepted heartbeat for too long\n")
        return LAPSED
    leash = Leash(start(command), within, since, grace)
    try:
        status = leash.wait(wake)
    finally:
        kill_until_nothing_is_left()
    if status is None:
        os.write(2, f"leash: killed {' '.join(command[:3])}: {leash.why}\n".encode())
        return LAPSED
    code = os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    if result and leash.kill_at is None:
        write_result(result, code)
    return code


if __name__ == "__main__":
    sys.exit(main())
