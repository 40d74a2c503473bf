"""A real S3 server on this machine, started and stopped by the test that needs one."""

from __future__ import annotations

import http.client
import logging
from collections.abc import Iterator
from contextlib import contextmanager

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
