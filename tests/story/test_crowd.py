"""Two hundred searches by ten people while workers are killed: each ends as it should, for its owner alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from submits.states import Status
from tests.onebox.running import Running
from tests.story import ended
from tests.story.audit import audited, journalled
from tests.story.installation import command_lines, long_query, parent_of, rows, start
from tests.story.test_matrix import seed
from tests.story.visitor import Visitor
from tests.world import REPOSITORY, SCALE, until

PEOPLE, SEARCHES = 10, 200
EVERY = (8.0, 16.0)  # seconds from one kill to the next
SPARED = 20.0  # seconds for which a worker that was killed is left alone: five deaths a minute stop everything
KINDS = {n: long_query(n) for n in (1, 2, 3)}  # by their number of queries
Note = Callable[[str, object], None]


class Killer:
    """Kills a worker or one of its children, by chance, when it is time."""

    def __init__(self, running: Running, dice: random.Random) -> None:
        self.running, self.dice = running, dice
        self.next = time.monotonic() + EVERY[0]
        self.last: dict[str, float] = {}
        self.killed: Counter[str] = Counter()

    def look(self) -> None:
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + self.dice.uniform(*EVERY)
        name, child = self.dice.choice(("worker@", "submitter@")), self.dice.random() < 0.5
        what = f"{name[:-1]}'s child" if child else name[:-1]
        if not child and now - self.last.get(name, -SPARED) < SPARED:
            return
        pids = [pid for pid, line in command_lines(self.running).items() if name in line and "leash.py" not in line]
        try:
            wanted = [pid for pid in pids if (parent_of(pid) in pids) == child]
            os.kill(self.dice.choice(wanted), signal.SIGKILL)
        except (OSError, IndexError):  # it is just being started again
            return
        self.killed[what] += 1
        if not child:
            self.last[name] = now


@pytest.mark.skipif(SCALE == 1, reason="two hundred searches are for make test-long")
@pytest.mark.timeout(3600)
def test_two_hundred_by_ten_while_workers_are_killed(up: Callable[..., Running], note: Note, tmp_path: Path) -> None:
    state, journal_file, chosen = tmp_path / "s", tmp_path / "journal", seed()
    note("the crowd's seed (MATRIX_SEED)", chosen)
    dice = random.Random(chosen)
    scaled = {"COORDUI_PROTOCOL_SCALE": "0.1", "BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS": "60"}
    running, first = start(up, state, **scaled, COORDUI_SUBMIT_JOURNAL=str(journal_file))
    people = [person(first.home, state, f"user{number}") for number in range(PEOPLE)]
    hits = {}
    for kind, query in KINDS.items():
        key = first.search(query, "globins", evalue="1000")
        hits[kind] = first.reaches(key, "completed", "failed")["hits"]
    assert all(hits.values()) and len(set(hits.values())) == len(KINDS)
    killer = Killer(running, dice)
    pressed: dict[str, tuple[Visitor, int, bool]] = {}
    with audited(state / "kubeconfig") as audit, journalled(journal_file) as journal:
        for number in range(SEARCHES):
            who, kind, cancels = people[number % PEOPLE], dice.choice(list(KINDS)), number % 10 == 9
            key = who.search(KINDS[kind], "globins", evalue="1000", title=f"number {number}")
            pressed[key] = (who, kind, cancels)
            if cancels:
                who.cancel(key)
            killer.look()

        def all_have_ended() -> bool:
            killer.look()
            query = "select count(*) from submits_submission where status not in ('completed', 'failed', 'cancelled')"
            return rows(state, query) == [(0,)]

        until(all_have_ended, 3000)
        ended.nothing_is_left(state)
    outcomes: dict[str, str] = {}
    for key, (who, kind, cancels) in pressed.items():
        shown = who.state(key)
        outcomes[key] = shown["status"]
        right = {Status.COMPLETED, Status.CANCELLED} if cancels else {Status.COMPLETED}
        assert shown["status"] in right, shown
        assert shown["status"] == Status.CANCELLED or shown["hits"] == hits[kind], shown
    note("200 searches by 10 people", dict(Counter(outcomes.values())))
    note("killed meanwhile", dict(killer.killed))
    note("most runs live at once (ceiling 3)", audit.most_live)
    assert sum(killer.killed.values()) > 0
    assert audit.most_live <= 3
    ended.ended_once(state, outcomes)
    ended.submitted_once(outcomes, audit, journal)
    is_a_strangers(people[1], next(iter(pressed)))
    assert running.stop(within=60) == 0
    assert running.left() == []


def person(home: str, state: Path, name: str) -> Visitor:
    command = [sys.executable, "manage.py", "adduser", name, "--state", str(state)]
    said = subprocess.check_output(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, timeout=60, text=True)
    return Visitor(f"{home}/signin/", (name, said.rpartition("password: ")[2].strip()))


def is_a_strangers(who: Visitor, key: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        who.state(key)
    assert refused.value.code == 404
    refused.value.close()
