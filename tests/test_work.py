"""The work store: whole files by key, and no key that leaves it; in a directory and in an object store alike."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from submits.work import Missing, Unstored, WorkError, WorkStore, brisk, run_key
from submits.work.logs import LEFT_OUT, ObjectLog
from submits.work.objects import PART, sending
from tests.making import killed_while_making
from tests.objectstore import BUCKET, s3

RUN = "job-" + "0" * 32
PLACES = ("directory", "s3")


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    with s3() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield environment


@pytest.fixture(scope="module")
def objects(server: dict[str, str]) -> WorkStore:
    return WorkStore(f"s3://{BUCKET}/some/prefix")


@pytest.fixture(params=PLACES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> WorkStore:
    if request.param == "directory":
        return WorkStore(f"file://{tmp_path}/with%20space")
    found: WorkStore = request.getfixturevalue("objects")
    found.remove("runs")  # what the last test left: a client of its own for each test takes a second
    return found


def test_what_is_put_is_got_and_listed(store: WorkStore) -> None:
    store.put(run_key(RUN, "out", "0001.tsv"), b"b")
    store.put(run_key(RUN, "query.fa"), b"a")
    store.put(f"runs/{RUN}0", b"another, of a name that begins alike")
    assert store.get(run_key(RUN, "query.fa")) == b"a"
    assert store.names(f"runs/{RUN}") == [run_key(RUN, "out", "0001.tsv"), run_key(RUN, "query.fa")]
    assert [info.size for info in store.listing(f"runs/{RUN}")] == [1, 1]
    assert store.exists(run_key(RUN, "query.fa")) and not store.exists(run_key(RUN, "out"))
    store.delete(run_key(RUN, "query.fa"))
    store.delete(run_key(RUN, "query.fa"))
    assert store.names(f"runs/{RUN}") == [run_key(RUN, "out", "0001.tsv")]
    store.remove(f"runs/{RUN}")
    assert store.names(f"runs/{RUN}") == [] and store.exists(f"runs/{RUN}0")


def test_a_file_is_replaced_whole(store: WorkStore) -> None:
    key = run_key(RUN, "plan.json")
    store.put(key, b"old")
    before = store.info(key)
    with store.writing(key) as file:
        file.write(b"new ")
        file.flush()
        assert store.get(key) == b"old" and store.names(f"runs/{RUN}") == [key]
        file.write(b"and longer")
    after = store.info(key)
    assert store.get(key) == b"new and longer"
    assert store.names(f"runs/{RUN}") == [key]
    assert (before.size, after.size, before.mark == after.mark) == (3, 14, False) and after.changed >= before.changed


def test_what_is_not_written_to_its_end_is_not_there(store: WorkStore) -> None:
    for key, was in ((run_key(RUN, "new"), False), (run_key(RUN, "old"), True)):
        if was:
            store.put(key, b"before")
        with pytest.raises(KeyError), store.writing(key) as file:
            file.write(b"half")
            raise KeyError
        assert store.exists(key) is was
    assert store.get(run_key(RUN, "old")) == b"before" and store.names("runs") == [run_key(RUN, "old")]


def test_a_reader_goes_on_in_a_directory_with_what_it_has_opened(tmp_path: Path) -> None:
    store = WorkStore(str(tmp_path))
    store.put("plan.json", b"old")
    with store.open("plan.json") as reader:
        store.put("plan.json", b"new and longer")
        assert reader.read() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_large_file_is_read_in_a_stream_here_and_there_and_as_a_local_one(store: WorkStore) -> None:
    """Larger than two parts of an upload and than what is read ahead."""
    key, whole = run_key(RUN, "hits.tsv"), bytes(range(251)) * 68_000
    with store.writing(key) as file:
        for at in range(0, len(whole), 1 << 20):
            file.write(whole[at : at + (1 << 20)])
    with store.open(key) as file:
        assert b"".join(iter(lambda: file.read(1 << 16), b"")) == whole
        assert file.seek(5_000_003) == 5_000_003 and file.read(300) == whole[5_000_003:5_000_303]
        assert file.seek(-7, os.SEEK_END) == len(whole) - 7 and file.read() == whole[-7:]
    with store.open(key) as file:
        assert file.readline() == whole[:11] and file.tell() == 11
    assert store.tail(key, 100) == whole[-100:] and store.get(key) == whole
    with store.local(key) as path:
        assert path.read_bytes() == whole


def test_what_is_made_here_is_taken_whole(store: WorkStore) -> None:
    key = run_key(RUN, "out", "0001.asn")
    with store.scratch(key) as directory:
        (directory / "made").write_bytes(b"archive")
        assert store.names("runs") == []
        store.take(key, directory / "made")
    assert store.get(key) == b"archive" and store.names("runs") == [key]
    assert not directory.exists()


def test_what_a_killed_maker_has_left_goes_with_the_next_of_the_same_key(tmp_path: Path) -> None:
    """Two may make the same at once, on two machines: only of one that is dead nobody holds the lock."""
    store = WorkStore(str(tmp_path))
    key, other = run_key(RUN, "out", "0001.asn"), run_key(RUN, "out", "0001.asn.b")
    for one in (key, other):
        killed_while_making(tmp_path, one)
    left = {path.name for path in (tmp_path / "runs" / RUN / "out").iterdir()}
    assert len(left) == 2
    with store.scratch(key) as living:
        (living / "made").write_bytes(b"archive")
        assert [name for name in left if living.with_name(name).exists()] == [min(left, key=lambda n: "asn.b" not in n)]
        with store.scratch(key) as second:
            assert living.is_dir() and second != living
        store.take(key, living / "made")
    assert store.get(key) == b"archive"


def test_many_files_are_got_at_once(store: WorkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("submits.work.objects.TOGETHER", 3)
    for number in range(5):
        store.put(f"runs/{number}", b"%d" % number * number)
    there = store.listing("runs")
    assert store.get_all(there[::-1]) == [b"4444", b"333", b"22", b"1", b""] and store.get_all([]) == []
    store.delete("runs/4")
    with pytest.raises(Missing, match="not in the work store any more"):
        store.get_all(there)


def test_a_file_of_any_size_is_sent_in_as_many_parts_as_s3_takes() -> None:
    for size in (1, 80 << 30, 5 << 40):
        part = sending("s3", size)["chunksize"]
        assert part >= PART and -(-size // part) <= 10_000
    assert sending("s3", 70 << 30)["chunksize"] == PART == sending("gs", 5 << 40)["chunksize"]


def test_what_is_missing_is_said_by_key(store: WorkStore) -> None:
    key = run_key(RUN, "outcome.json")
    with pytest.raises(Missing, match=r"outcome\.json"):
        store.get(key)
    with pytest.raises(Missing, match=r"outcome\.json"), store.local(key):
        pass
    with pytest.raises(Missing, match=r"outcome\.json"):
        store.info(key)
    assert not store.exists(key) and store.tail(key, 9) == b"" and store.names("runs") == []


def test_an_empty_file_is_a_file(store: WorkStore) -> None:
    store.put("runs/empty", b"")
    assert (store.get("runs/empty"), store.tail("runs/empty", 5), store.names("runs")) == (b"", b"", ["runs/empty"])


def test_a_log_is_added_to_and_stays_below_its_cap(store: WorkStore) -> None:
    key = run_key(RUN, "log.txt")
    for word in (b"first\n", b"second\n"):
        log = store.log(key, 2_000)
        log.write(word)
        log.close()
    assert store.get(key) == b"first\nsecond\n"
    log = store.log(key, 2_000)
    for number in range(1_000):
        log.write(b"%d\n" % number)
    log.close()
    said = store.get(key)
    assert said.startswith(LEFT_OUT) and said.endswith(b"\n998\n999\n") and 1_000 < len(said) <= 2_000
    numbers = [int(line) for line in said.splitlines()[1:]]
    assert numbers == list(range(numbers[0], 1_000))


@pytest.mark.parametrize("key", ["../x", "runs/../../x", "/etc/passwd", "a//b", "", "a/./b", "a\0b"])
def test_no_key_leaves_the_store(store: WorkStore, key: str) -> None:
    for act in (store.open, store.writing, store.info, store.listing, store.delete, store.remove, store.local):
        with pytest.raises(WorkError, match="is not a key"):
            cast(Any, act)(key).__enter__()


@pytest.mark.parametrize("run", ["job-1", "../../etc", RUN + "/..", RUN.upper(), RUN + "\n"])
def test_only_a_run_id_of_ours_makes_a_key(run: str) -> None:
    with pytest.raises(WorkError):
        run_key(run, "query.fa")


def test_a_client_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(WorkError, match=r"gs:// needs gcsfs: .*, or the extra gcs of"):
        WorkStore("gs://bucket/work")


def test_no_call_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes the connection and never answers; one that is not there."""
    monkeypatch.setattr("submits.work.objects.ANSWER", 0.5)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "known")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        store = WorkStore(f"s3://{BUCKET}/silent")
        for act in (
            store.exists,
            store.get,
            store.listing,
            store.delete,
            store.remove,
            lambda key: store.put(key, b""),
        ):
            with pytest.raises(Unstored, match="no answer within") as refused:
                act("runs")
            assert "hidden" not in str(refused.value)
    with pytest.raises(Unstored):
        WorkStore(f"s3://{BUCKET}/gone").get("runs/x")


def test_a_bucket_that_is_not_there_is_no_place_to_write(server: dict[str, str]) -> None:
    with pytest.raises(Unstored, match="there is no work store s3://nowhere/x"):
        WorkStore("s3://nowhere/x").put("runs/y", b"z")


def test_a_log_waits_for_no_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds a gate says something while the store is silent: nothing waits but the end, and that is bounded."""
    monkeypatch.setattr("submits.work.objects.ANSWER", 60.0)
    monkeypatch.setattr("submits.work.logs.LAST", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        log = WorkStore(f"s3://{BUCKET}/silent").log("runs/log.txt", 1_000)
        for _ in range(100):
            log.write(b"words " * 20)
        log.close()
        assert any(thread.name == "log" for thread in threading.enumerate()), "it is still asking"


def test_the_last_words_of_a_log_are_tried_again_until_their_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("submits.work.logs.EVERY", 0.01)
    kept: list[bytes] = []
    tries, closing = iter(range(5)), threading.Event()

    def keep(said: bytes) -> None:
        assert closing.wait(30)
        if next(tries, None) is not None:
            raise Unstored("slow down")
        kept.append(said)

    log = ObjectLog(lambda: b"", keep, 1_000)
    log.write(b"why it failed\n")
    log.closed.set()
    closing.set()
    log.close()
    assert kept == [b"why it failed\n"]
    monkeypatch.setattr("submits.work.logs.LAST", 0.05)
    tries = iter(range(1_000_000))
    log = ObjectLog(lambda: b"", keep, 1_000)
    log.write(b"never stored")
    log.close()
    assert log.thread is not None
    log.thread.join(30)
    assert not log.thread.is_alive() and len(kept) == 1


def test_a_forked_process_asks_with_a_client_of_its_own(objects: WorkStore) -> None:
    objects.put("runs/x", b"of the parent")
    if (child := os.fork()) == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)  # else one that waits for its parent's thread would stay
        os._exit(0 if objects.get("runs/x") == b"of the parent" else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_directory_loads_no_client_of_an_object_store(tmp_path: Path) -> None:
    code = (
        f"import sys; from submits.work import WorkStore; WorkStore({str(tmp_path)!r}).put('x', b'y')\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('fsspec', 's3fs', 'asyncio', 'django')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"


def test_who_may_not_stand_still_waits_once_and_briefly(objects: WorkStore) -> None:
    """After a request that had no answer none is sent, in this thread and until the block ends."""
    objects.put("runs/x", b"there")
    told: list[bytes] = []
    with brisk():
        with socket.create_server(("127.0.0.1", 0)) as nobody, pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}")
            patch.setattr("submits.work.objects.PATIENCE", 0.3)
            with pytest.raises(Unstored, match=r"no answer within 0\.3 s"):
                WorkStore(f"s3://{BUCKET}/silent").get("runs/x")
        with pytest.raises(Unstored, match="was not asked for info: it failed a moment ago"):
            objects.get("runs/x")
        thread = threading.Thread(target=lambda: told.append(objects.get("runs/x")))
        thread.start()
        thread.join(10)
    with brisk():
        with pytest.raises(Missing):
            objects.get("runs/none")
        assert [*told, objects.get("runs/x")] == [b"there"] * 2, "that there is no such file is an answer"
