"""What a client needs: a certificate authority, a token, and a kubeconfig that names both. Kept across restarts."""

from __future__ import annotations

import base64
import os
import secrets
import ssl
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Credentials:
    ca: Path  # the authority's certificate
    server: Path  # the server's key and certificate, 0600
    token: str

    @property
    def ca_text(self) -> str:
        return self.ca.read_text()


def write_private(path: Path, text: str) -> None:
    """Atomic, and never readable by others, not even while it is written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)


def load_or_make(directory: Path) -> Credentials:
    ca, server, token = directory / "ca.crt", directory / "server.pem", directory / "token"
    if not _usable(ca, server):
        authority, key_and_certificate = make_certificates()
        write_private(server, key_and_certificate)
        write_private(ca, authority)
    if not (token.exists() and token.read_text().strip()):
        write_private(token, secrets.token_urlsafe(32) + "\n")
    return Credentials(ca, server, token.read_text().strip())


def make_certificates() -> tuple[str, str]:
    """The authority's certificate, and the server's key with its certificate; the authority's key is thrown away."""
    import trustme  # 70 ms, needed only once in a state directory's life

    authority = trustme.CA(organization_name="coordui embedded cluster")
    issued = authority.issue_cert(HOST, "localhost", "kubernetes", "kubernetes.default.svc")
    parts = [issued.private_key_pem, *issued.cert_chain_pems]
    return authority.cert_pem.bytes().decode(), "".join(part.bytes().decode() for part in parts)


def _usable(ca: Path, server: Path) -> bool:
    try:
        ssl.create_default_context(cafile=str(ca))
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(server)
    except (OSError, ssl.SSLError):
        return False
    return True


def kubeconfig_text(url: str, credentials: Credentials) -> str:
    """The authority is in it, not beside it: the file works wherever it is copied to."""
    authority = base64.b64encode(credentials.ca.read_bytes()).decode()
    return f"""apiVersion: v1
kind: Config
clusters:
- name: coordui
  cluster:
    server: {url}
    certificate-authority-data: {authority}
users:
- name: coordui
  user:
    token: {credentials.token}
contexts:
- name: coordui
  context:
    cluster: coordui
    user: coordui
    namespace: default
current-context: coordui
"""


def write_account(directory: Path, namespace: str, token: str, authority: str) -> Path:
    """What a Pod finds in COORDUI_SERVICEACCOUNT, as it finds it elsewhere in a place of its own."""
    place = directory / "serviceaccount"
    place.mkdir(exist_ok=True, mode=0o700)
    for name, text in (("token", token), ("ca.crt", authority), ("namespace", namespace)):
        write_private(place / name, text)
    return place
