"""Memory limits: what counts, who is killed, and how it is told. Real memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.onebox.cluster.fixtures import RunningCluster, until
from tests.onebox.cluster.looking import conditions, ended_pod, make_pod, terminated

MIB = 2**20
LIMIT = {"resources": {"limits": {"memory": "64Mi"}}}


def python(program: str, *arguments: str) -> Any:
    return {"command": [sys.executable, "-I", "-S", "-c", program, *arguments], **LIMIT}


def test_over_its_limit_it_is_killed_and_its_job_counts_a_failure(cluster: RunningCluster) -> None:
    """Also when it is a grandchild that holds the memory."""
    hog = "x = bytearray(96 << 20); import time; time.sleep(60)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hog!r}])"
    cluster.job("hog", backoffLimit=1, container=python(program))
    job = cluster.job_condition("hog", "Failed")
    assert conditions(job)[-1] == ("Failed", "BackoffLimitExceeded") and job["status"]["failed"] == 2
    for pod in cluster.pods_of("hog"):
        assert (terminated(pod)["reason"], terminated(pod)["exitCode"]) == ("OOMKilled", 137)


def test_mapped_files_and_address_space_do_not_count(cluster: RunningCluster, tmp_path: Path) -> None:
    """96 MiB of a file, mapped and read as BLAST does it, and a gigabyte that is asked for but not touched."""
    database, go = tmp_path / "database", tmp_path / "go"
    database.write_bytes(bytes(96 * MIB))
    program = (
        "import mmap, os, sys, time\n"
        "with open(sys.argv[1], 'rb') as file: mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
        "untouched = mmap.mmap(-1, 1 << 30)\n"
        "total = sum(mapped[page] for page in range(0, len(mapped), 4096))\n"
        "print(total, flush=True)\n"
        "while not os.path.exists(sys.argv[2]): time.sleep(0.01)\n"
    )
    make_pod(cluster, "maps", python(program, str(database), str(go)))
    watched(cluster, "maps")
    go.touch()
    assert ended_pod(cluster, "maps")["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize("place", ["memfd", "/dev/shm"])
def test_files_in_memory_count_mapped_or_not(cluster: RunningCluster, place: str) -> None:
    """Written to and never mapped, a file in memory is no part of any process's resident size."""
    name = f"coordui-test-{os.getpid()}"
    program = (
        "import os, sys, time\n"
        "place, name = sys.argv[1:]\n"
        "if place == 'memfd': fd = os.memfd_create(name)\n"
        "else: fd = os.open(f'{place}/{name}', os.O_RDWR | os.O_CREAT); os.unlink(f'{place}/{name}')\n"
        "for _ in range(96): os.write(fd, bytes(1 << 20))\n"
        "time.sleep(60)\n"
    )
    pod = f"holds-{place.rpartition('/')[2]}"
    make_pod(cluster, pod, python(program, place, name))
    assert terminated(ended_pod(cluster, pod))["reason"] == "OOMKilled"


def test_what_is_a_file_in_memory_and_mapped_too_counts_once(cluster: RunningCluster, tmp_path: Path) -> None:
    """40 MiB in a memfd that is mapped, and read through the mapping."""
    go = tmp_path / "go"
    program = (
        "import mmap, os, sys, time\n"
        "fd = os.memfd_create('x'); os.truncate(fd, 40 << 20); mapped = mmap.mmap(fd, 40 << 20)\n"
        "for page in range(0, len(mapped), 4096): mapped[page] = 1\n"
        "print('mapped', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
    )
    make_pod(cluster, "once", python(program, str(go)))
    watched(cluster, "once")
    go.touch()
    assert ended_pod(cluster, "once")["status"]["phase"] == "Succeeded"


def test_memory_that_forked_children_share_counts_once(cluster: RunningCluster, tmp_path: Path) -> None:
    """Four processes with the same 32 MiB: 128 MiB by the sum of their resident sizes, 32 in truth."""
    go = tmp_path / "go"
    program = (
        "import os, sys, time\n"
        "x = bytearray(32 << 20)\n"
        "[os.fork() for _ in range(2)]\n"
        "print('forked', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
    )
    make_pod(cluster, "forks", python(program, str(go)))
    watched(cluster, "forks", lines=4)
    go.touch()
    assert ended_pod(cluster, "forks")["status"]["phase"] == "Succeeded"


def watched(cluster: RunningCluster, name: str, lines: int = 1) -> None:
    """Until it has said so many lines, and its memory has been looked at twice since."""
    from tests.onebox.cluster.looking import pod_log

    until(lambda: str(pod_log(cluster, name).body).count("\n") == lines)
    make_pod(cluster, f"after-{name}", python("import time; x = bytearray(96 << 20); time.sleep(60)"))
    assert terminated(ended_pod(cluster, f"after-{name}"))["reason"] == "OOMKilled"
