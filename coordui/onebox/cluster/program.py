"""The program: start, say so in one line, run until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from .kinds.quantities import quantity
from .runner.node import MOST_PODS, Size
from .server import CannotStart, ClusterServer, Settings


def add_arguments(parser: argparse.ArgumentParser, state: Path | None = None) -> None:
    """`state` is where everything is kept unless --state says otherwise; without it --state is required."""
    words = "where everything is kept" + (f" (default: {state})" if state else "")
    parser.add_argument("--state", type=Path, default=state, required=state is None, metavar="DIR", help=words)
    parser.add_argument("--port", type=int, metavar="N", help="default: the last one, or any that is free")
    parser.add_argument("--no-jobs", action="store_true", help="serve the API alone: Jobs get no Pods")
    parser.add_argument("--durable", action="store_true", help="survive a power cut too; writes are slower")
    parser.add_argument("--cpu", type=_amount, metavar="N", help="what Pods may ask for together (default: all)")
    parser.add_argument("--memory", type=_amount, metavar="N", help="the same of memory, such as 4Gi")
    parser.add_argument("--pods", type=int, default=MOST_PODS, metavar="N", help=f"at once (default: {MOST_PODS})")
    parser.add_argument("--apply", type=Path, nargs="+", default=[], metavar="FILE", help="begin with these manifests")
    parser.add_argument("--namespace", default="default", metavar="NAME", help="where they are applied")
    parser.add_argument("--faults", action="store_true", help="let clients PUT /faults: for tests and game days")


def _amount(text: str) -> str:
    """A quantity of more than nothing, as argparse wants to hear of it."""
    try:
        good = quantity(text) > 0
    except ValueError as why:
        raise argparse.ArgumentTypeError(str(why)) from None
    if not good:
        raise argparse.ArgumentTypeError(f'"{text}" has to be more than nothing')
    return text


def settings_from(options: Mapping[str, Any]) -> Settings:
    return Settings(
        options["state"],
        options["port"],
        run_jobs=not options["no_jobs"],
        durable=options["durable"],
        fault_door=options["faults"],
        manifests=tuple(options["apply"]),
        namespace=options["namespace"],
        size=Size(options["cpu"], options["memory"], options["pods"]),
    )


async def _serve(settings: Settings, say: Callable[[str], None]) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for sig in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sig, stop.set)
    server = ClusterServer(settings)
    await server.start()
    say(f"cluster ready at {server.url}; export KUBECONFIG={shlex.quote(str(server.kubeconfig))}")
    try:
        await stop.wait()
    finally:
        await server.stop()


def serve(settings: Settings, say: Callable[[str], None]) -> int:
    """The exit code. `say` gets the line that announces readiness, or the reason why it did not start."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        _run(_serve(settings, say))
    except CannotStart as why:
        say(f"cluster: {why}")
        return 1
    return 0


def _run(work: Coroutine[Any, Any, None]) -> None:
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    try:
        import uvloop

        factory = uvloop.new_event_loop
    except ImportError:  # pragma: no cover  (it is optional on some platforms)
        pass
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work)


def main(
    arguments: Sequence[str] | None = None, *, name: str = "python -m coordui.onebox.cluster", state: Path | None = None
) -> int:
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    add_arguments(parser, state)
    options = parser.parse_args(arguments)
    return serve(settings_from(vars(options)), lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main())
