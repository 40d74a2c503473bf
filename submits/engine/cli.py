"""`coordui-engine`: the submit under the gate, and what runs in the Pods of a search.

Exit statuses are those of `elastic-blast` (see `errors.Exit`). Imports are made where they are needed: a batch must not
load the Kubernetes client.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from submits.engine.errors import EngineError, Exit, Interrupted, status_of
from submits.states import SubmitsError
from submits.work import RUN_ID, WorkStore

if TYPE_CHECKING:
    from submits.gates.ports import Cluster


NO_RUN = f"job-{0:032x}"  # of a command that is of no run


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status; what went wrong is said in one line on standard error."""
    arguments = _parser().parse_args(argv)
    _on_signals(_interrupt)
    try:
        if not RUN_ID.fullmatch(getattr(arguments, "run", NO_RUN)):
            raise EngineError(Exit.INPUT, f"{arguments.run!r} is not a run id: job- and 32 hexadecimal digits")
        return int(arguments.command(arguments))
    except (SubmitsError, OSError) as error:
        print(f"coordui-engine: {error}", file=sys.stderr)
        return status_of(error)
    except Exception:  # a status of ours in any case: Python's own 1 would say that the input is wrong
        traceback.print_exc()
        return Exit.UNKNOWN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="coordui-engine", description="Runs BLAST searches as Kubernetes Jobs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    submit = commands.add_parser("submit", help="create the Jobs of a prepared search")
    submit.add_argument("--cfg", required=True, type=Path, help="the INI file")
    submit.add_argument("--idempotency-key", required=True, dest="run", metavar="RUN_ID")
    submit.set_defaults(command=_submit)
    for name, command, about in (
        ("launch", _launch, "in the submit Job: create the batches' Jobs"),
        ("batch", _batch, "in a blast Job: search one batch"),
        ("format", _format, "in a format Job: make one format of the results"),
        ("finalize", _finalize, "in the finalizer: wait, merge, write the outcome"),
        ("follow", _follow, "beside elastic-blast: wait for its end, read its results, write the outcome"),
    ):
        pod = commands.add_parser(name, help=about)
        pod.add_argument("--work", required=True, metavar="URL")
        pod.add_argument("--run", required=True, metavar="RUN_ID")
        pod.set_defaults(command=command)
        if name == "batch":
            pod.add_argument("--batch", required=True, type=int)
        if name == "format":
            pod.add_argument("--format", required=True, metavar="NAME")
        if name in ("batch", "format"):
            pod.add_argument("--fetch", type=Path, metavar="DIRECTORY", help="where a database of an object store goes")
        if name == "follow":
            pod.add_argument("--attempt", required=True)
    scan = commands.add_parser("scan", help="in a scan Job: say which databases there are")
    scan.add_argument("--work", required=True, metavar="URL")
    scan.add_argument("--databases", required=True, metavar="DIRECTORY")
    scan.set_defaults(command=_scan)
    return parser


def _submit(arguments: argparse.Namespace) -> Exit:
    from submits.engine.journal import JOURNAL, Journal

    # Before the client is imported, so that the journal covers the whole process.
    with Journal(os.environ.get(JOURNAL, ""), arguments.run):
        from submits.engine import settings
        from submits.engine.external import settings as external_settings
        from submits.engine.submit import submit

        chosen = settings.read(arguments.cfg)
        if external := external_settings.read(arguments.cfg):
            from submits.engine.external.submit import ExternalSubmit

            cluster, store = _cluster(chosen.namespace), WorkStore(chosen.work_url)
            directory, attempt = arguments.cfg.absolute().parent, secrets.token_hex(4)
            ExternalSubmit(cluster, store, chosen, external, directory, attempt).submit(arguments.run)
            return Exit.OK
        submit(_cluster(chosen.namespace), WorkStore(chosen.work_url), arguments.run, chosen)
        _say(f"{arguments.run} is in namespace {chosen.namespace}: its finalizer, and the Job that starts its batches")
    return Exit.OK


def _launch(arguments: argparse.Namespace) -> Exit:
    from submits.engine.launch import keep_words, launch

    store = WorkStore(arguments.work)
    try:
        batches = launch(_cluster(), store, arguments.run)
    except SubmitsError as error:
        keep_words(store, arguments.run, str(error))
        raise
    _say(f"{arguments.run} has a Job for each of its batches: {batches}")
    return Exit.OK


def _batch(arguments: argparse.Namespace) -> int:
    from submits.engine.batch import read_record, run

    store = WorkStore(arguments.work)
    _say(f"batch {arguments.batch} of {arguments.run} begins")
    status = run(store, arguments.run, arguments.batch, arguments.fetch)
    record = read_record(store, arguments.run, arguments.batch)
    if record is not None:
        _say("\n".join(filter(None, (record.stderr, f"it ended with status {record.exit} after {record.seconds:g} s"))))
    return status


def _format(arguments: argparse.Namespace) -> Exit:
    from submits.engine.formatting import make

    _say(f"{arguments.format} of {arguments.run} begins")
    return make(WorkStore(arguments.work), arguments.run, arguments.format, arguments.fetch)


def _finalize(arguments: argparse.Namespace) -> Exit:
    from submits.engine.finalize import finalize

    store = WorkStore(arguments.work)
    _say(f"{arguments.run}: waiting for its batches")
    status = finalize(_cluster(), store, arguments.run)
    _say_outcome(store, arguments.run)
    return status


def _follow(arguments: argparse.Namespace) -> Exit:
    from submits.engine.external.follow import follow

    store = WorkStore(arguments.work)
    _say(f"{arguments.run}: waiting for elastic-blast's words")
    status = follow(_cluster(), store, arguments.run, arguments.attempt)
    _say_outcome(store, arguments.run)
    return status


def _scan(arguments: argparse.Namespace) -> Exit:
    from submits.engine.scanning import SCANNED, scan

    report = scan(WorkStore(arguments.work), arguments.databases, SCANNED)
    _say(report.trouble or f"{len(report.found)} databases, and {len(report.damaged)} that are not whole")
    return Exit.OK  # whoever made the Job reads the report


def _say_outcome(store: WorkStore, run: str) -> None:
    from submits.engine.outcome import read_outcome

    outcome = read_outcome(store, run)
    if outcome is not None:
        _say(outcome.message or f"{outcome.hits} hits of {outcome.queries_with_hits} of {outcome.queries} queries")


def _say(words: str) -> None:
    """Into the log that its author reads, at once."""
    print(f"{datetime.now(UTC):%H:%M:%S} {words}", flush=True)


def _cluster(namespace: str = "") -> Cluster:
    """The cluster that the environment names; in its own namespace unless another is given."""
    from submits.cluster import connect
    from submits.cluster.connection import NotConfigured, from_environment

    try:
        found = from_environment()
        return connect(replace(found, namespace=namespace or found.namespace))
    except NotConfigured as error:
        raise EngineError(Exit.DEPENDENCY, str(error)) from error


def _on_signals(handler: signal._HANDLER) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """The first signal ends the work in good order; while that is done no second one disturbs it."""
    _on_signals(signal.SIG_IGN)
    raise Interrupted


if __name__ == "__main__":
    sys.exit(main())
