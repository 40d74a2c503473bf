"""One REDIS_URL in the words of those who use it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

SCHEMES = ("unix", "redis", "rediss")


def celery_url(url: str) -> str:
    """Celery names a unix socket differently, and the number of a database on it."""
    parsed = urlsplit(url)
    if parsed.scheme == "rediss":
        return url + ("&" if parsed.query else "?") + "ssl_cert_reqs=required"
    if parsed.scheme != "unix":
        return url
    database = parse_qs(parsed.query).get("db", ["0"])[0]
    return f"redis+socket://{parsed.path}?virtual_host={database}"
