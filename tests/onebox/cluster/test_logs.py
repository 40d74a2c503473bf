"""pods/log: which part, with which times, of which run, and followed."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coordui.onebox.cluster.runner import logfile
from coordui.onebox.cluster.runner.logfile import FILE_BYTES, LogFile
from tests.onebox.cluster.fixtures import PODS, RunningCluster, until
from tests.onebox.cluster.looking import ended_pod, make_pod, pod_log, sh

STEPS = "echo one; until test -e {go}; do sleep 0.01; done; printf 'two\\nth'; sleep 0.1; printf 'ree\\nrest'"


@pytest.fixture(scope="module")
def spoken(cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Pod that said "one", and a day later by the clock "two", "three" in two pieces, and a line without an end."""
    go: Path = tmp_path_factory.mktemp("go") / "go"
    make_pod(cluster, "spoken", sh(STEPS.format(go=go)))
    until(lambda: pod_log(cluster, "spoken").body == "one\n")
    cluster.faults.clock.offset = 86400
    go.touch()
    ended_pod(cluster, "spoken")
    cluster.faults.clock.offset = 0
    return "spoken"


def test_the_end_of_a_log(cluster: RunningCluster, spoken: str) -> None:
    assert pod_log(cluster, spoken).ok() == "one\ntwo\nthree\nrest"
    assert pod_log(cluster, spoken, tailLines="2").ok() == "three\nrest"
    assert pod_log(cluster, spoken, tailLines="0").ok() == ""
    assert pod_log(cluster, spoken, limitBytes="5").ok() == "one\nt"
    assert pod_log(cluster, spoken, tailLines="2", limitBytes="5").ok() == "three"


def test_every_line_has_the_time_at_which_it_began(cluster: RunningCluster, spoken: str) -> None:
    lines = [line.split(" ", 1) for line in pod_log(cluster, spoken, timestamps="true").ok().splitlines()]
    assert [text for _, text in lines] == ["one", "two", "three", "rest"]
    assert all(len(stamp) == len("2026-01-02T03:04:05.123456789Z") and stamp.endswith("Z") for stamp, _ in lines)
    times = [datetime.fromisoformat(stamp[:26] + "+00:00") for stamp, _ in lines]
    assert times[1] == times[2] < times[3] and 86000 < (times[1] - times[0]).total_seconds() < 87000


def test_only_what_came_since(cluster: RunningCluster, spoken: str) -> None:
    cluster.faults.clock.offset = 86400
    try:
        assert pod_log(cluster, spoken, sinceSeconds="3600").ok() == "two\nthree\nrest"
        assert pod_log(cluster, spoken, sinceSeconds="3600", tailLines="1").ok() == "rest"
    finally:
        cluster.faults.clock.offset = 0
    stamp = pod_log(cluster, spoken, timestamps="true").ok().splitlines()[-1].split(" ")[0]
    assert pod_log(cluster, spoken, sinceTime=stamp).ok() == "rest"
    reply = pod_log(cluster, spoken, sinceSeconds="1", sinceTime=stamp)
    assert reply.code == 422 and "at most one of" in reply.body["message"]
    for wrong in ({"sinceSeconds": "0"}, {"sinceSeconds": "-1"}, {"limitBytes": "0"}, {"tailLines": "-1"}):
        assert pod_log(cluster, spoken, **wrong).code == 422, wrong
    for wrong in ({"sinceTime": "yesterday"}, {"sinceTime": "0001-01-01"}, {"sinceSeconds": "9" * 20}):
        assert pod_log(cluster, spoken, **wrong).code == 400, wrong
    assert pod_log(cluster, spoken, sinceSeconds="9" * 17).ok() == "one\ntwo\nthree\nrest"
    assert pod_log(cluster, spoken, sinceTime="0001-01-01T00:00:00Z").ok() == "one\ntwo\nthree\nrest"


def test_logs_are_followed(cluster: RunningCluster, tmp_path: Path) -> None:
    """From the middle of a line too."""
    go = tmp_path / "go"
    script = (
        f"printf 'one\\nha'; until test -e {go}; do sleep 0.01; done; printf 'lf\\nth'; sleep 0.1; printf 'ree\\nrest'"
    )
    make_pod(cluster, "talks", sh(script))
    until(lambda: pod_log(cluster, "talks").body == "one\nha")
    url = f"{PODS}/talks/log?follow=true"
    with (
        cluster.stream(url) as plain,
        cluster.stream(f"{url}&timestamps=true") as stamped,
        cluster.stream(f"{url}&tailLines=0&limitBytes=6") as limited,
    ):
        assert next(plain) == "one\n" and next(stamped).endswith("Z one\n")
        threading.Timer(0, go.touch).start()
        assert "".join(plain) == "half\nthree\nrest"
        assert [line.split("Z ", 1)[1] for line in stamped] == ["half\n", "three\n", "rest"]
        assert "".join(limited) == "lf\nthr"


def test_the_run_before(cluster: RunningCluster, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = f"echo x >> {ran}; echo run $(wc -l < {ran}); test $(wc -l < {ran}) = 3 && exec sleep 65.1; exit 1"
    make_pod(cluster, "thrice", sh(script), restartPolicy="OnFailure")
    until(lambda: pod_log(cluster, "thrice").body == "run 3\n")
    assert pod_log(cluster, "thrice", previous="true").ok() == "run 2\n"
    cluster.call("DELETE", f"{PODS}/thrice").ok()


def test_what_there_is_no_log_of(cluster: RunningCluster, spoken: str) -> None:
    reply = pod_log(cluster, spoken, previous="true")
    words = f'previous terminated container "c" in pod "{spoken}" not found'
    assert (reply.code, reply.body["message"]) == (400, words)
    reply = pod_log(cluster, spoken, container="x")
    assert (reply.code, reply.body["message"]) == (400, f"container x is not valid for pod {spoken}")
    make_pod(cluster, "homeless", sh("true"), nodeSelector={"disk": "none"})
    assert (pod_log(cluster, "homeless").code, pod_log(cluster, "homeless").body) == (204, "")
    inits = [{"name": "i", "image": "n", **sh("exec sleep 65.2")}]
    make_pod(cluster, "starts", sh("true"), sh("true"), initContainers=inits)
    reply = pod_log(cluster, "starts")
    assert "choose one of: [c c1] or one of the init containers: [i]" in reply.body["message"]
    until(lambda: "PodInitializing" in str(pod_log(cluster, "starts", container="c").body))
    reply = pod_log(cluster, "starts", container="c")
    words = 'container "c" in pod "starts" is waiting to start: PodInitializing'
    assert (reply.code, reply.body["message"]) == (400, words)
    assert pod_log(cluster, "starts", container="i").ok() == ""
    cluster.call("DELETE", f"{PODS}/starts").ok()


def test_logs_are_bounded(cluster: RunningCluster) -> None:
    make_pod(cluster, "floods", sh("yes 0123456789abcdef | head -c 13000000; echo the end"))
    ended_pod(cluster, "floods")
    found = pod_log(cluster, "floods").ok()
    assert found.endswith("the end\n") and FILE_BYTES <= len(found) <= 2 * FILE_BYTES


def test_times_survive_the_change_of_files(tmp_path: Path) -> None:
    moments = iter(range(1, 10))
    log = LogFile(tmp_path / "c.0.log", lambda: datetime.fromtimestamp(next(moments), UTC))
    big = b"x" * (FILE_BYTES - 100) + b"\n"
    for data in (big, b"a\nb", b"c\n", big, b"\xff\rd\n"):
        log.write(data)
    log.close()
    found = [(moment // 1_000_000, line[:3]) for moment, line in logfile.Lines().feed(logfile.pieces(log.path))]
    assert found == [(1, b"xxx"), (2, b"a\n"), (2, b"bc\n"), (4, b"xxx"), (5, b"\xff\rd")]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * FILE_BYTES
