"""The submit as a real process on its leash: what it sees, how its end is told, and that nothing of it goes on."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

from submits.engine.leashed import PRUNED_AFTER, LeashedSubmit, tail, was_killed
from submits.gates.ports import KILLED, Times
from submits.work import WorkStore
from submits.work.logs import LEFT_OUT
from tests.world import until

RUN = "job-" + "a" * 32


def boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def submit(tmp_path: Path, script: str) -> LeashedSubmit:
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return LeashedSubmit(
        [str(program)],
        "[cluster]\n",
        json.dumps({"current-context": "pinned"}),
        {"PATH": "/usr/bin:/bin"},
        store=WorkStore(str(tmp_path / "work")),
        times=Times().scaled(0.05),
        parent=tmp_path / "submits",
    )


def ended(one: LeashedSubmit, within: float = 10) -> int:
    end = time.monotonic() + within
    while (code := one.poll(0.1)) is None:
        assert time.monotonic() < end
    return code


def test_it_is_called_as_elastic_blast_is_in_a_private_directory_that_goes(tmp_path: Path) -> None:
    one = submit(tmp_path, f'echo "$@"; cat "$3" "$KUBECONFIG"; pwd; env >{tmp_path}/env; exit 5')
    one.start(RUN, boot())
    directory = one.directory
    assert directory is not None
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert ended(one) == 5
    said = tail(one.store, RUN)
    assert f"submit --cfg {directory}/submit.ini --idempotency-key {RUN}" in said
    assert "[cluster]" in said
    assert '"current-context": "pinned"' in said
    assert not directory.exists()
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names <= {"PATH", "KUBECONFIG", "HOME", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "LC_CTYPE", "_"}


@pytest.mark.parametrize(
    ("code", "killed"), [(0, False), (7, False), (124, True), (-9, True), (137, True), (255, False)]
)
def test_an_end_by_a_signal_is_told_from_an_end_of_its_own(code: int, killed: bool) -> None:
    assert was_killed(code) is killed


def test_a_command_that_was_killed_was_killed(tmp_path: Path) -> None:
    one = submit(tmp_path, "kill -9 $$")
    one.start(RUN, boot())
    assert ended(one) == KILLED


def test_silence_kills_it_and_its_children(tmp_path: Path) -> None:
    one = submit(tmp_path, f"(sleep 301; echo >{tmp_path}/late) & echo $! >{tmp_path}/pid; sleep 301")
    one.start(RUN, boot())
    pid = until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    assert ended(one) == KILLED  # after 2 s, the scaled leash
    assert not Path(f"/proc/{pid}").exists()


def test_a_kill_waits_until_nothing_is_left(tmp_path: Path) -> None:
    one = submit(tmp_path, f"setsid sleep 302 & echo $! >{tmp_path}/pid; sleep 302")
    one.start(RUN, boot())
    pid = until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    one.kill()
    assert not Path(f"/proc/{pid}").exists()


def test_it_is_not_started_on_a_heartbeat_that_is_too_old(tmp_path: Path) -> None:
    one = submit(tmp_path, f"echo >{tmp_path}/up")
    one.start(RUN, boot() - 3)
    assert ended(one) == KILLED
    assert not (tmp_path / "up").exists()


# Its directory and its words ------------------------------------------------------------------------------------------


def test_it_leaves_no_directory_however_it_ends(tmp_path: Path) -> None:
    for script in ("exit 0", "exit 7", "sleep 301"):
        one = submit(tmp_path, script)
        one.start(RUN, boot())
        if "sleep" in script:
            one.kill()
        else:
            ended(one)
    nothing = submit(tmp_path, "exit 0")
    nothing.configuration = "\ud800"  # cannot be written
    with pytest.raises(UnicodeEncodeError):
        nothing.start(RUN, boot())
    assert list((tmp_path / "submits").iterdir()) == []


GIVEN = ("submit.ini", "kubeconfig")
LEFT = """
mkdir -p home/.cloud && echo TOKEN >home/.cloud/cache && ln -s home/.cloud/cache link
echo "token: CLOUD" >kubeconfig-of-the-cloud
printf '[x]\nazure-storage-account-key = a%%%%b+c==\nOther-Key: SECRET\nlabels = x=y\n' >elastic-blast.ini
echo "DEBUG: list --account-key a%b+c== of SECRET" >elastic-blast.log
"""


def test_it_is_kept_on_request_without_any_credential(tmp_path: Path) -> None:
    """Whatever has been left anywhere: only what is named stays, without the values of its keys."""
    one = submit(tmp_path, LEFT)
    one.keep = True
    one.start(RUN, boot())
    assert one.directory is not None
    modes = {path.name: path.stat().st_mode & 0o777 for path in one.directory.glob("*") if path.name in GIVEN}
    assert modes == dict.fromkeys(GIVEN, 0o600)
    assert ended(one) == 0
    (kept,) = (tmp_path / "submits").iterdir()
    texts = {path.name: path.read_text() for path in kept.iterdir()}
    assert texts.pop("submit.ini") == one.configuration
    assert texts == {
        "elastic-blast.ini": "[x]\nazure-storage-account-key =\nOther-Key:\nlabels = x=y\n",
        "elastic-blast.log": "DEBUG: list --account-key  of \n",
    }


def test_what_was_left_long_ago_goes_at_the_next_start_and_nothing_else(tmp_path: Path) -> None:
    parent = tmp_path / "submits"
    for name, age in (("submit-old", PRUNED_AFTER + 60), ("submit-young", 60), ("other-old", PRUNED_AFTER + 60)):
        (parent / name / "below").mkdir(parents=True)
        os.utime(parent / name, (time.time() - age,) * 2)
    one = submit(tmp_path, "exit 0")
    one.start(RUN, boot())
    ended(one)
    assert sorted(path.name for path in parent.iterdir()) == ["other-old", "submit-young"]


def test_two_at_once_share_no_file(tmp_path: Path) -> None:
    """Each writes the same names into its home, its temporary directory and where it stands, and reads them back when
    both have written."""
    script = f"""
for place in "$HOME" "$TMPDIR" .; do echo $$ >$place/same; done
echo $$ >{tmp_path}/pid.$$
while [ $(ls {tmp_path}/pid.* | wc -l) -lt 2 ]; do sleep 0.01; done
for place in "$HOME" "$TMPDIR" .; do [ $(cat $place/same) = $$ ] || exit 9; done
cat "$3" "$KUBECONFIG"; echo "I am $$" """
    runs = [RUN, "job-" + "b" * 32]
    both = [submit(tmp_path, script) for _ in runs]
    for one, run in zip(both, runs, strict=True):
        one.configuration = f"[cluster]\n; {run}\n"
        one.start(run, boot())
    assert [ended(one) for one in both] == [0, 0]
    said = [tail(one.store, run) for one, run in zip(both, runs, strict=True)]
    assert [run in words for run, words in zip(runs, said, strict=True)] == [True, True]
    assert {words.rpartition("I am ")[2] for words in said} == {path.suffix[1:] for path in tmp_path.glob("pid.*")}


def test_a_log_stays_below_its_cap_and_keeps_the_last_words(tmp_path: Path) -> None:
    one = submit(tmp_path, "seq 1 60000; echo the end")  # 340 kB
    one.log_bytes = 20_000
    one.start(RUN, boot())
    path = Path(one.store.url, "runs", RUN, "log.txt")
    sizes = []
    while one.poll(0.01) is None:
        sizes.append(path.stat().st_size if path.exists() else 0)
    text = path.read_bytes()
    assert max([*sizes, len(text)]) <= 20_000
    assert text.startswith(LEFT_OUT) and text.endswith(b"\n60000\nthe end\n")
    numbers = [int(line) for line in text.splitlines()[1:-1]]
    assert numbers == list(range(numbers[0], 60_001)) and len(numbers) > 1000


def test_every_try_adds_to_the_same_log(tmp_path: Path) -> None:
    for word in ("first", "second"):
        one = submit(tmp_path, f"echo {word}")
        one.start(RUN, boot())
        ended(one)
    assert tail(one.store, RUN) == "first\nsecond"


def test_a_disk_that_takes_no_words_does_not_stop_a_submit(tmp_path: Path) -> None:
    one = submit(tmp_path, f"echo words; echo >{tmp_path}/done")
    Path(one.store.url, "runs", RUN, "log.txt").mkdir(parents=True)
    one.start(RUN, boot())
    assert ended(one) == 0
    assert (tmp_path / "done").exists()


def test_a_kill_with_a_grace_lets_it_tidy_up_and_one_without_does_not(tmp_path: Path) -> None:
    script = f"trap 'echo tidy >>{tmp_path}/tidied; exit 3' TERM; echo >{tmp_path}/up; while :; do sleep 0.01; done"
    for grace, tidied in ((5.0, True), (0.0, False)):
        for name in ("up", "tidied"):
            (tmp_path / name).unlink(missing_ok=True)
        one = submit(tmp_path, script)
        one.start(RUN, boot())
        until((tmp_path / "up").exists)
        one.kill(grace)
        assert (tmp_path / "tidied").exists() is tidied
        assert one.directory is None


def test_who_does_not_hear_is_killed_when_the_grace_is_over(tmp_path: Path) -> None:
    one = submit(tmp_path, f"trap '' TERM; echo $$ >{tmp_path}/pid; while :; do echo deaf; done")  # a full pipe, too
    one.start(RUN, boot())
    pid = until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    one.kill(0.1)
    assert not Path(f"/proc/{pid}").exists()
