"""`gcloud`, `gsutil` and `kubectl` in place of a cloud: buckets are directories of $CLOUD, every call is a line there.

A program that is run, its name as its first word, with nothing but Python; it answers what elastic-blast asks.
"""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import sys
from pathlib import Path

CLOUD = Path(os.environ["CLOUD"])
KUBECONFIG = {
    "apiVersion": "v1", "kind": "Config", "current-context": "gke_cloud",
    "contexts": [{"name": "gke_cloud", "context": {"cluster": "gke_cloud", "user": "gke_cloud"}}],
}  # fmt: skip


def main(name: str, words: list[str]) -> int:
    with (CLOUD / "calls").open("a") as calls:
        calls.write(json.dumps([name, os.environ.get("KUBECONFIG", ""), *words]) + "\n")
    return {"gcloud": gcloud, "gsutil": gsutil, "kubectl": kubectl}.get(name, lambda _: 0)(words)


def gcloud(words: list[str]) -> int:
    if words[:3] == ["compute", "regions", "list"]:
        print(json.dumps([{"name": "us-east4"}]))
    elif words[:2] == ["services", "list"]:
        print("enabled")
    elif words[:3] == ["container", "clusters", "create"]:
        (CLOUD / "cluster").touch()
    elif words[:3] == ["container", "clusters", "list"] and (CLOUD / "cluster").exists():
        print("RUNNING")
    elif words[:3] == ["container", "clusters", "get-credentials"]:
        Path(os.environ.get("KUBECONFIG") or Path.home() / ".kube/config").write_text(json.dumps(KUBECONFIG))
    elif "--version" in words:
        print("Google Cloud SDK 500.0.0")
    return 0


def kubectl(words: list[str]) -> int:
    if words[0] == "version":
        print(json.dumps({"clientVersion": {"major": "1", "minor": "31", "gitVersion": "v1.31.4"}}))
    elif words[:2] == ["config", "current-context"]:
        print("gke_cloud")
    elif "apply" in words:
        given = words[words.index("-f") + 1]
        text = sys.stdin.read() if given == "-" else Path(given).read_text() if Path(given).is_file() else ""
        with (CLOUD / "applied.yaml").open("a") as applied:
            applied.write(f"---\n{text}\n")
    elif "get" in words and "-o" in words:
        print(json.dumps({"items": [], "status": {"phase": "Bound"}}))
    return 0


def place(address: str) -> Path:
    return CLOUD / address.removeprefix("gs://")


def found(address: str) -> list[Path]:
    at = place(address)
    if not at.parent.is_dir():
        return []
    return sorted(path for path in at.parent.iterdir() if fnmatch.fnmatch(path.name, at.name))


def gsutil(words: list[str]) -> int:
    if "--version" in words:
        print("gsutil version: 5.30")
        return 0
    named = [word for word in words if word.startswith("gs://")]
    if "cp" in words:
        return copy(words)
    if "stat" in words or "ls" in words or "cat" in words:
        there = [path for address in named for path in found(address)]
        for path in there:
            print(path.read_text() if "cat" in words else f"gs://{path.relative_to(CLOUD)}", end="\n")
        return 0 if there else 1
    if "rm" in words:
        for path in [path for address in named for path in found(address)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return 0


def copy(words: list[str]) -> int:
    *sources, target = [word for word in words[words.index("cp") + 1 :] if word == "-" or not word.startswith("-")]
    at = place(target)
    folder = target.endswith("/")
    (at if folder else at.parent).mkdir(parents=True, exist_ok=True)
    for source in sources:
        if source == "-":
            at.write_bytes(sys.stdin.buffer.read())
            continue
        for path in found(source) if source.startswith("gs://") else Path(source).parent.glob(Path(source).name):
            shutil.copy(path, at / path.name if folder else at)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
