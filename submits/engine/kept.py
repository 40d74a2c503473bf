"""What stays of a submit's directory that is kept for somebody to look at: named files, and no credential in them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

INI = "elastic-blast.ini"  # what elastic-blast is given
LOG = "elastic-blast.log"  # what it says at length
KEPT = {"submit.ini", INI, LOG}
_KEY = re.compile(rb"(?im)^([\w-]*key[ \t]*[=:])[ \t]*(.*?)[ \t]*$")


def strip(directory: Path) -> None:
    """Removes all but the named files, whose settings `…key` are blanked, wherever their values stand.

    A submit may leave tokens and kubeconfigs in any place: in its home, beside it, in a temporary file.
    Raises OSError.
    """
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in KEPT or not path.is_file() or path.is_symlink():
            path.unlink()
    texts = {path: path.read_bytes() for path in directory.iterdir()}
    secrets = {match[2] for text in texts.values() for match in _KEY.finditer(text) if match[2]}
    secrets |= {secret.replace(b"%%", b"%") for secret in secrets}
    for path, text in texts.items():
        told = _KEY.sub(rb"\1", text)
        for secret in secrets:
            told = told.replace(secret, b"")
        path.write_bytes(told)
