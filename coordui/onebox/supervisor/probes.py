"""Is it ready? Each asks once, waits at most half a second, and takes every failure for "not yet"."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import yaml

PATIENCE = 0.5


def store(path: Path) -> bool:
    """A raw PING: a client library's own retries would take longer than the whole start. A store that still
    loads its file answers -LOADING."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False


def web(host: str, port: int) -> bool:
    return _status(http.client.HTTPConnection(host, port, timeout=PATIENCE), "/healthz/web") == 200


def web_lives(host: str, port: int) -> bool:
    """Any answer at all: one that says that the database is away is no reason to start the process again."""
    return _status(http.client.HTTPConnection(host, port, timeout=PATIENCE), "/healthz/web") > 0


def cluster(kubeconfig: Path, port: int) -> bool:
    """/readyz over TLS, by the certificate that the kubeconfig names; a kubeconfig of an earlier start names
    another port."""
    try:
        entry = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        server = urlsplit(entry["server"])
        if server.port != port:
            return False
        data = base64.b64decode(entry.get("certificate-authority-data", "")).decode()
        context = ssl.create_default_context(cafile=entry.get("certificate-authority"), cadata=data or None)
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
        return False  # not written yet
    connection = http.client.HTTPSConnection(str(server.hostname), port, timeout=PATIENCE, context=context)
    return _status(connection, "/readyz") == 200


def _status(connection: http.client.HTTPConnection, path: str) -> int:
    """0 when there was no answer."""
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
