"""The WorkStore: every file of every search (queries, batches, tables, archives, logs, outcomes).

A directory that we and the Pods mount. Who writes what: the web `query.fa`, the preparation `plan.json` and `batches/`,
the submit `log.txt`, the gatekeeper `logs/`, a batch's Pod its `out/`, the finalizer `hits.tsv`, `summary.json` and,
last and once, `outcome.json`.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from submits.states import SubmitsError

RUN_ID = re.compile(r"job-[0-9a-f]{32}")


class WorkError(SubmitsError):
    """The work store cannot be used as configured."""


class Missing(WorkError):
    """No file under this key."""


def run_key(run_id: str, *parts: str) -> str:
    """The key of a file of a run. `run_id` is ours (never a user's text) and is checked all the same."""
    if not RUN_ID.fullmatch(run_id):
        raise WorkError(f"{run_id!r} is not a run id")
    return "/".join(("runs", run_id, *parts))


class WorkStore:
    """Files by key, written whole or not at all. Keys are slash-separated and never leave the store."""

    def __init__(self, url: str) -> None:
        """`url` is `file:///DIR` or an absolute path. Raises WorkError for anything else."""
        parsed = urlsplit(url)
        path = unquote(parsed.path)
        if parsed.scheme not in ("", "file") or parsed.netloc or not path.startswith("/"):
            raise WorkError(f"COORDUI_WORK_URL: {url!r} is not a directory; give an absolute path or file:///DIR")
        self.url = url
        self.root = Path(path)

    def path(self, key: str) -> Path:
        """The local path of a key; its parent directories are made."""
        parts = key.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise WorkError(f"{key!r} is not a key of the work store")
        path = self.root.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def put(self, key: str, data: bytes) -> None:
        path = self.path(key)
        # A name of its own, so that two writers at once each rename a whole file.
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        temporary.write_bytes(data)
        os.replace(temporary, path)

    def append(self, key: str, data: bytes) -> None:
        with self.path(key).open("ab") as file:
            file.write(data)

    def get(self, key: str) -> bytes:
        with self.open(key) as file:
            return file.read()

    def open(self, key: str) -> BinaryIO:
        try:
            return self.path(key).open("rb")
        except FileNotFoundError:
            raise Missing(f"there is no {key} in the work store") from None

    def exists(self, key: str) -> bool:
        return self.path(key).is_file()

    def names(self, prefix: str) -> list[str]:
        """The keys under a prefix (a whole directory), sorted."""
        top = self.path(prefix)
        if not top.is_dir():
            return []
        found = (path for path in top.rglob("*") if path.is_file() and not path.name.startswith("."))
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def remove(self, prefix: str) -> None:
        shutil.rmtree(self.path(prefix), ignore_errors=True)
