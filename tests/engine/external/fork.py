"""A small elastic-blast with the flags and the markers of the Azure fork, whose cloud is a directory (`file://`).

A program that is run. It reads its configuration as the real one does, writes to the cluster by `kubectl` and whatever
context that has, and makes its finalizer last. $FORK_BLASTDB is where its databases are; $FORK says what it does wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from configparser import ConfigParser
from pathlib import Path
from typing import Any

WRONG = os.environ.get("FORK", "")
SECTIONS = {"cloud-provider", "cluster", "blast", "timeouts"}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="elastic-blast")
    made.add_argument("--version", action="version", version="elastic-blast 1.3.1.fork")
    submit = made.add_subparsers(dest="command").add_parser("submit")
    submit.add_argument("--cfg", required=True)
    submit.add_argument("--idempotency-key")
    submit.add_argument("--json", action="store_true")
    return made


def submit(words: argparse.Namespace) -> int:
    cfg = ConfigParser()
    cfg.read(words.cfg)
    if unknown := set(cfg.sections()) - SECTIONS:
        print(f"ERROR: Unrecognized configuration parameter in section {unknown}", file=sys.stderr)
        return 1
    blast = dict(cfg["blast"])
    run_id = f"job-{uuid.uuid4().hex}" if WRONG == "own id" else words.idempotency_key
    results = Path(blast["results"].removeprefix("file://")) / run_id
    (results / "metadata").mkdir(parents=True)
    (Path(blast["results"].removeprefix("file://")) / "seen.json").write_text(json.dumps(seen(cfg)))
    batches = split(Path(blast["queries"]).read_text(), results)
    if WRONG in ("slow", "slow but well"):
        return wait_for_signal(results)
    if WRONG == "leaves":
        return leave_one_behind(results)
    if WRONG.isdecimal():
        print(f"ERROR: it ends with {WRONG}", file=sys.stderr)
        return int(WRONG)
    if WRONG == "context":
        other_context()
    for number, path in enumerate(batches):
        out = results / f"batch_{number:03d}-{blast['program']}-{Path(blast['db']).name}.out.gz"
        command = [sys.executable, __file__, "search", str(path), str(out), blast["program"], blast["db"]]
        job(
            f"{blast['program']}-batch-{number:03d}-{run_id[-8:]}",
            "blast",
            run_id,
            command + shlex.split(blast["options"]),
        )
    if WRONG != "no finalizer":
        command = [sys.executable, __file__, "finalize", str(results), str(len(batches))]
        job(f"elb-finalizer-{run_id[-8:]}", "finalizer", run_id, command)
    if WRONG == "ends badly":
        return 7
    if words.json:
        print(json.dumps({"status": "submitted", "job_id": run_id}))
    return 0


def seen(cfg: ConfigParser) -> dict[str, Any]:
    given = Path(os.environ["KUBECONFIG"])
    kubeconfig = json.loads(given.read_text()) if given.exists() else {"contexts": []}
    contexts = [context["context"]["namespace"] for context in kubeconfig["contexts"]]
    sections = {name: dict(cfg[name]) for name in cfg.sections()}
    home = os.environ["HOME"]
    return {"environment": dict(os.environ), "namespaces": contexts, "cfg": sections, "home": os.listdir(home)}


def split(text: str, results: Path) -> list[Path]:
    """Two queries a batch."""
    (results / "query_batches").mkdir()
    records = [f">{record}" for record in text.split(">")[1:]]
    paths = []
    for number in range(0, len(records), 2):
        paths.append(results / f"query_batches/batch_{number // 2:03d}.fa")
        paths[-1].write_text("".join(records[number : number + 2]))
    return paths


def wait_for_signal(results: Path) -> int:
    def clean_up(number: int, frame: Any) -> None:
        time.sleep(0.3)
        (results / "cleaned").touch()
        sys.exit(0 if WRONG == "slow but well" else 9)

    signal.signal(signal.SIGINT, clean_up)
    (results / "waits").touch()
    while True:
        time.sleep(0.05)


def leave_one_behind(results: Path) -> int:
    """A process that keeps its streams open, and says when it has lost its parent."""
    parent = os.getpid()
    if os.fork():
        return 0
    while os.getppid() == parent:
        time.sleep(0.01)
    (results / "waits").touch()
    time.sleep(30)
    return 0


def other_context() -> None:
    path = Path(os.environ["KUBECONFIG"])
    found = json.loads(path.read_text())
    cluster = {"cluster": "pinned", "user": "pinned", "namespace": "default"}
    found["contexts"].append({"name": "other", "context": cluster})
    path.write_text(json.dumps({**found, "current-context": "other"}))


def job(name: str, app: str, run_id: str, command: list[str]) -> None:
    labels = {"app": app, "elb-job-id": run_id}
    environment = [{"name": "FORK_BLASTDB", "value": os.environ["FORK_BLASTDB"]}, {"name": "FORK", "value": WRONG}]
    container = {"name": app, "image": "none", "command": command, "env": environment}
    template = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    body = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels},
        "spec": {"backoffLimit": 0, "template": template},
    }  # fmt: skip
    subprocess.run(["kubectl", "create", "-f", "-"], input=json.dumps(body).encode(), check=True, stdout=sys.stderr)


def search(query: str, out: str, program: str, database: str, *options: str) -> int:
    plain = Path(out).with_suffix("")
    argv = [program, "-db", database, "-query", query, "-out", str(plain), *options]
    done = subprocess.run(argv, env={**os.environ, "BLASTDB": os.environ["FORK_BLASTDB"]}, check=False)
    temporary = Path(f"{out}.new")
    temporary.write_bytes(gzip.compress(plain.read_bytes()))
    temporary.rename(out)
    return done.returncode


def finalize(results: str, batches: str) -> int:
    """It ends well whatever it writes, as the fork's does."""
    at = Path(results)
    while len(list(at.glob("*.out.gz"))) < int(batches):
        time.sleep(0.05)
    if WRONG == "failing":
        (at / "metadata/FAILURE.txt").write_text("BLAST engine error: out of luck\n")
    else:
        (at / "metadata/SUCCESS.txt").touch()
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["search", *given]:
            sys.exit(search(*given))
        case ["finalize", *given]:
            sys.exit(finalize(*given))
        case given:
            sys.exit(submit(parser().parse_args(given)))
