"""The command `up`."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
import time
from collections.abc import Sequence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", help="where the web listens; 0: any free port (COORDUI_PORT, 8000)")
    parser.add_argument("--state", help="the directory where everything is kept (COORDUI_STATE, ./var)")
    parser.add_argument("--only", default="", help="the parts to run, by commas, as in web,worker")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("manage.py up", description="Starts everything and prints the address to sign in.")
    add_arguments(parser)
    options = parser.parse_args(words)
    return up(options.state, options.port, options.only)


def up(state: str | None, port: str | None, only: str) -> int:
    # The settings are read when they are imported, by us and by every process we start.
    for name, value in (("COORDUI_STATE", state), ("COORDUI_PORT", port)):
        if value:
            os.environ[name] = value
    from coordui import settings
    from coordui.onebox.supervisor.claim import Refused, claimed, free_port

    settings.LAYOUT.make()
    try:
        with claimed(settings.LAYOUT) as lock:
            return _run(free_port(settings.COORDUI_LISTEN, settings.COORDUI_PORT), only, lock)
    except Refused as refused:
        print(f"coordui: {refused}", file=sys.stderr)
        return 1


def say(line: str) -> None:
    try:
        print(f"coordui: {line}", flush=True)
    except OSError:
        pass  # the terminal is gone; what runs does not need it


def _run(port: int, only: str, lock: int) -> int:
    from coordui import settings
    from coordui.layout import write_secret
    from coordui.onebox.supervisor.claim import record
    from coordui.onebox.supervisor.specs import chosen, environment, processes
    from coordui.onebox.supervisor.tree import Tree

    begun, layout = time.monotonic(), settings.LAYOUT
    names = chosen(only)
    record(layout, _address(port))
    write_secret(layout.signin_key, secrets.token_urlsafe(32))
    if settings.COORDUI_CLUSTER == "embedded" and os.environ.get("KUBECONFIG"):
        say(
            f"KUBECONFIG ({os.environ['KUBECONFIG']}) is set and not used: searches run on the embedded cluster. "
            "To run them on yours: make up COORDUI_CLUSTER=kubeconfig"
        )

    def on_up() -> None:
        write_secret(layout.ready, json.dumps({"pid": os.getpid(), "port": port}))
        say(f"all is ready ({time.monotonic() - begun:.1f} s); kept in {layout.root}; Ctrl-C stops it")
        if "web" in names and layout.signin.exists():
            print(f"\n{layout.signin.read_text().rstrip()}\n", flush=True)

    def on_down() -> None:
        layout.ready.unlink(missing_ok=True)

    return Tree(
        processes(names, port),
        env=environment(port, os.getpid()),
        cwd=settings.BASE_DIR,
        logs=layout.logs,
        say=say,
        on_up=on_up,
        on_down=on_down,
        keep=(lock,),
    ).run()


def _address(port: int) -> str:
    from coordui import settings

    host = "localhost" if settings.COORDUI_LISTEN in ("0.0.0.0", "::", "127.0.0.1") else settings.COORDUI_LISTEN  # noqa: S104
    return f"http://{host}:{port}/"
