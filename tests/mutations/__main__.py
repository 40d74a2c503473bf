"""Do the tests see it when a rule is taken away?

    python -m tests.mutations [WORD ...]      all, or those whose name holds one of the words

1. The sources are copied, once for each of the two workers; the working tree is never touched.
2. The tests that are named in the table must pass on the copy as it is.
3. One mutation at a time is written into the copy and its tests run until the first failure.
4. A table: mutation, the test that failed, seconds. It ends with 1 if one survives, or cannot be tried.

Each run is on a leash: a mutation may leave a process behind that the product would not.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.mutation import Mutation
from tests.mutations.table import MUTATIONS
from tests.world import REPOSITORY

WORKERS = 2
LIMIT, ALL = 240, 1200  # seconds that one mutation's run may take, and the one without any
COPIED = ("submits", "coordui", "tests", "templates", "static", "deploy", "manage.py", "pyproject.toml")
# A test that hangs fails by name.
PYTEST = ["-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider", "-p", "no:xdist"]
PYTEST += ["--timeout", "60", "--timeout-method", "signal"]


@dataclass(frozen=True)
class Found:
    name: str
    by: str  # the test that failed; "" if none did
    seconds: float
    wrong: str = ""  # why the mutation could not be tried


def copy_to(directory: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "browser", "pictures")
    for name in COPIED:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, directory / name, ignore=ignored)
        elif source.exists():
            shutil.copy(source, directory / name)
    return directory


def run(root: Path, tests: Iterable[str], limit: float) -> tuple[int, str]:
    """pytest's exit status and output. Compiled files would hide a change within the same second."""
    leash = [sys.executable, "-I", "-S", str(REPOSITORY / "submits" / "leash.py"), "--within", str(limit), "--"]
    process = subprocess.Popen(
        [*leash, sys.executable, *PYTEST, *tests],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    try:
        assert process.stdout is not None
        said = process.stdout.read()
        return process.wait(), said
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def attempt(mutation: Mutation, root: Path) -> Found:
    begun = time.monotonic()
    path = root / mutation.file
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutation.changed(root), encoding="utf-8")
        code, said = run(root, mutation.tests, LIMIT)
    except Exception as error:
        return Found(mutation.name, "", time.monotonic() - begun, str(error))
    finally:
        path.write_text(before, encoding="utf-8")
    seconds = time.monotonic() - begun
    killer = re.search(r"^(?:FAILED|ERROR) (\S+?\.py)(?:::(\S+))?", said, re.MULTILINE)
    if code == 1 and killer:
        return Found(mutation.name, f"{Path(killer[1]).stem}::{killer[2]}", seconds)
    if code == 124:
        return Found(mutation.name, "nothing that could end: the run took too long", seconds)
    return Found(mutation.name, "", seconds, "" if code == 0 else f"pytest ended with {code}:\n{said[-2000:]}")


def work(untried: queue.SimpleQueue[Mutation], found: list[Found], root: Path) -> None:
    while True:
        try:
            mutation = untried.get_nowait()
        except queue.Empty:
            return
        found.append(attempt(mutation, root))
        told = found[-1]
        print(f"{told.name:<58} {told.by or 'SURVIVED ' + told.wrong:<90} {told.seconds:5.1f} s", flush=True)


def main(words: list[str]) -> int:
    chosen = [one for one in MUTATIONS if not words or any(word in one.name for word in words)]
    for mutation in chosen:
        mutation.changed(REPOSITORY)  # a pattern that is stale is said before anything is run
    with tempfile.TemporaryDirectory(prefix="mutations-") as place:
        roots = [copy_to(Path(place, str(number))) for number in range(WORKERS)]
        code, said = run(roots[0], sorted({test for mutation in chosen for test in mutation.tests}), ALL)
        if code != 0:
            print(f"the tests fail without any mutation:\n{said[-4000:]}")
            return 1
        untried: queue.SimpleQueue[Mutation] = queue.SimpleQueue()
        for mutation in chosen:
            untried.put(mutation)
        found: list[Found] = []
        workers = [threading.Thread(target=work, args=[untried, found, root]) for root in roots]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    alive = [one.name for one in found if not one.by]
    print(f"{len(found) - len(alive)} of {len(chosen)} killed" + "".join(f"\nnot seen: {name}" for name in alive))
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
