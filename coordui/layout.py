"""The state directory: where everything that is kept lies. One home for these names."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

LONGEST_SOCKET = 107  # bytes: sun_path of a unix socket, less its closing zero


class Layout:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.database = root / "db.sqlite3"
        self.secret_key = root / "secret_key"
        self.kubeconfig = root / "kubeconfig"
        self.work = root / "work"
        self.blastdb = root / "blastdb"
        self.store = root / "store"
        self.logs = root / "logs"
        self.run = root / "run"
        self.lock = self.run / "lock"
        self.running = self.run / "up.json"
        self.ready = self.run / "ready"
        self.signin_key = self.run / "signin.key"
        self.signin = self.run / "signin.txt"

    def make(self) -> None:
        """Only its owner may look in: it holds sequences, keys and the record of who searched what."""
        for path in (self.root, self.work, self.blastdb, self.store, self.logs, self.run):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept_secret(self.secret_key)

    def socket(self) -> Path:
        """The store's unix socket: beside its files, or in a short directory of ours when that path is too long."""
        socket = self.store / "valkey.sock"
        if len(os.fsencode(socket)) <= LONGEST_SOCKET:
            return socket
        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        return Path("/tmp") / f"coordui-{os.getuid()}-{name}" / "valkey.sock"  # noqa: S108 (see private)


def private(directory: Path) -> None:
    """Make a directory for us alone. One of that name that belongs to somebody else is refused, not used."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ImproperlyConfigured(f"{directory} is not a directory that only we can enter; remove it and start again.")


def write_secret(path: Path, content: str) -> None:
    """A file only its owner reads, there whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(content)
    os.replace(temporary, path)


def kept_secret(path: Path) -> str:
    """The secret in a file, made on first use. Two processes that start at once agree: a link never replaces.

    Where nothing was ever started there is no directory for it, and none is made: the secret is this process's own.
    """
    if not path.parent.exists():
        return secrets.token_urlsafe(48)
    if not path.exists():
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        write_secret(fresh, secrets.token_urlsafe(48))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    found = path.read_text().strip()
    if len(found) < 32:
        raise ImproperlyConfigured(f"{path} does not hold a key; remove it, and sign in again after the next start.")
    return found
