"""A real S3 server on this machine, started and stopped by the test that needs one; one that never answers; and one
that refuses some of what it holds."""

from __future__ import annotations

import http.client
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from django.test import override_settings

from submits.scopes import store
from submits.work.objects import Objects

BUCKET = "work"


@contextmanager
def s3() -> Iterator[dict[str, str]]:
    """The environment by which a client finds it; it has one bucket."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        connection = http.client.HTTPConnection(host, port, timeout=10)
        for method, path in (("POST", "/moto-api/reset"), ("PUT", f"/{BUCKET}")):
            connection.request(method, path)
            assert connection.getresponse().read() is not None
        connection.close()
        yield {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "known",
            "AWS_SECRET_ACCESS_KEY": "hidden",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        server.stop()


@contextmanager
def silent() -> Iterator[list[str]]:
    """Within it this installation's work store is an object store that never answers. What is given are the verbs that
    it was asked for, each given up at once: `test_work` waits for a real one."""
    asked: list[str] = []

    class Nobody:
        def __getattr__(self, verb: str) -> Callable[..., None]:
            def ask(*arguments: object, **more: object) -> None:
                asked.append(verb)
                raise TimeoutError

            return ask

    with standing_in(Nobody()):
        yield asked


@contextmanager
def refusing(*names: str, by: Exception) -> Iterator[None]:
    """Within it this installation's work store is an object store, empty at first, whose client raises `by` when it is
    asked about a key with one of these names in it."""
    from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]

    class Refusing(MemoryFileSystem):  # type: ignore[misc]  # it has no types
        store: ClassVar[dict[str, Any]] = {}

        def info(self, path: str, **more: Any) -> Any:
            if any(name in path for name in names):
                raise by
            return super().info(path, **more)

    with standing_in(Refusing(skip_instance_cache=True)):
        yield


@contextmanager
def standing_in(system: object) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, override_settings(COORDUI_WORK_URL=f"s3://{BUCKET}/silent"):
        patch.setattr(Objects, "system", system)
        store.cache_clear()
        try:
            yield
        finally:
            store.cache_clear()
