"""Real processes on one cluster over TCP: killed, stopped, and the server with them. A witness checks every revision.

`TEST_KUBECONFIG=FILE` runs the same on any cluster, in namespaces that are removed again; what needs faults on purpose
or a server that may be killed is skipped there.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from submits.gates import naming
from tests.gates.processes.site import Doors, Program, Site, open_site
from tests.gates.processes.slow_submit import born
from tests.world import SCALE, until

CEILING = 2
PARTIES = ("dashboard", "openapi", "third")
QUICK = 0.05  # of the protocol's times: the leash 2 s, a takeover after 3.25 s by a clock of whole seconds
WITHIN = 60.0 * SCALE
Note = Callable[[str, object], None]
pytestmark = pytest.mark.timeout(200 * SCALE)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program | None]:
    if os.environ.get("TEST_KUBECONFIG"):
        yield None
        return
    running = Program(tmp_path_factory.mktemp("cluster"))
    yield running
    running.kill()


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    made = Doors(tmp_path_factory.mktemp("doors") / "said")
    yield made
    made.close()


@pytest.fixture
def site(program: Program | None, doors: Doors, tmp_path: Path) -> Iterator[Site]:
    kubeconfig = program.kubeconfig if program else Path(os.environ["TEST_KUBECONFIG"])
    with open_site(kubeconfig, doors, tmp_path) as made:
        made.client.job("the-first", parallelism=0)  # it loads the schema, for longer than a scaled heartbeat
        yield made


@pytest.fixture
def embedded(program: Program | None) -> Program:
    if program is None:
        pytest.skip("needs what only the embedded cluster has")
    return program


def nothing_is_left(site: Site) -> None:
    """When all work has ended: no marker, no ticket, no holder, no process."""
    tickets = (
        f"/apis/coordination.k8s.io/v1/namespaces/default/leases?labelSelector={naming.TICKETS.replace('/', '%2F')}"
    )
    until(lambda: not site.witness.ours(), 30)
    until(lambda: not site.client.call("GET", tickets).ok()["items"], 30)
    until(lambda: not site.below_leashes(), 30)


def check(site: Site, ceiling: int = CEILING) -> None:
    """What every revision and every signature said."""
    site.witness.seen_to(
        site.client.call("GET", "/apis/batch/v1/namespaces/default/jobs").ok()["metadata"]["resourceVersion"]
    )
    runs = {naming.run_id(f"{party}-{number}") for party, plan in site.plans.items() for number in range(plan.searches)}
    assert site.witness.gaps == []
    assert site.witness.most_live <= ceiling
    assert site.witness.uncovered == set()
    assert {run: len(uids) for run, uids in site.witness.finalizers.items()} == dict.fromkeys(runs, 1)


def test_doors_are_killed_at_any_moment(site: Site, note: Note) -> None:
    """The first of them in the middle of its submit, so that its gate has to be taken over."""
    dice = random.Random(SCALE)
    first, run = PARTIES[0], naming.run_id(f"{PARTIES[0]}-0")
    held = site.hold(run)
    site.open(site.plan(first, 2 * SCALE, factor=QUICK))
    site.submits_of(run)
    for party in PARTIES[1:]:
        site.open(site.plan(party, 2 * SCALE, factor=QUICK))
    until(lambda: len(site.logs("ticket")) > 2, 30)
    killed_at = site.kill(first)
    held.unlink()
    until(lambda: site.started_after(killed_at), 30)
    note(
        f"a holder killed → the next is admitted, times x {QUICK}",
        f"{site.started_after(killed_at)[0] - killed_at:.1f} s",
    )
    site.start(first)
    for _ in range(3 * SCALE - 1):
        time.sleep(dice.uniform(0.0, 0.6))
        site.kill(party := dice.choice(PARTIES))
        site.start(party)
    site.all_submitted(WITHIN)
    nothing_is_left(site)
    check(site)
    assert site.journal("beside") == []
    note("doors killed, submits started, revisions", (3 * SCALE, len(site.journal("start")), site.witness.revisions))


def test_a_holder_that_stands_still_has_its_submit_killed_before_the_next_begins(site: Site) -> None:
    """The leash does it; the grandchild that ran away dies too, in the middle of its writing."""
    run = naming.run_id("dashboard-0")
    held = site.hold(run)
    site.open(site.plan("dashboard", 1, factor=QUICK))
    family = site.submits_of(run)
    site.open(site.plan("openapi", 1, factor=QUICK))
    site.in_line("openapi")
    stopped_at = site.signal("dashboard", signal.SIGSTOP)
    until(lambda: not any(map(born, family)), 30)
    killed_at = time.monotonic()
    until(lambda: site.started_after(stopped_at), 30)
    assert killed_at < site.started_after(stopped_at)[0]
    held.unlink()
    site.signal("dashboard", signal.SIGCONT)
    site.all_submitted(WITHIN)
    nothing_is_left(site)
    check(site)
    assert [one for one, *_ in site.journal("start")].count(run) == 2
    assert site.journal("beside") == []
    assert site.logs("breach") == []


def test_what_was_frozen_leash_and_all_is_reported_and_the_ceiling_holds(site: Site) -> None:
    """The limit of one submit at a time: it goes on beside the next holder, who took an expired gate. Its reservation
    stands all the while, so a third has no place."""
    run = naming.run_id("dashboard-0")
    held = site.hold(run)
    # Nobody judges it dead before it goes on.
    patient = {"repair_after_takeover": 600.0, "repair_unheld": 600.0}
    plans = {party: site.plan(party, 1, factor=QUICK) for party in PARTIES}
    plans = {party: replace(plan, times={**plan.times, **patient}) for party, plan in plans.items()}
    site.open(plans["dashboard"])
    site.submits_of(run)
    site.ender.lasts = 600.0
    for party in PARTIES[1:]:
        site.open(plans[party])
        site.in_line(party)
    frozen = [site.pids["dashboard"], *site.below_leashes()]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    until(lambda: len(site.submitted("openapi") | site.submitted("third")) == 1, 30)
    held.unlink()
    leashes = [pid for pid in frozen if "leash.py" in Path(f"/proc/{pid}/cmdline").read_text()]
    for pid in set(frozen) - {*leashes, site.pids["dashboard"]}:
        os.kill(pid, signal.SIGCONT)
    until(lambda: run in site.witness.finalizers, 30)
    for pid in (*leashes, site.pids["dashboard"]):
        os.kill(pid, signal.SIGCONT)
    until(lambda: site.submitted("dashboard"), 30)
    breaches = until(lambda: [breach for breach in site.logs("breach") if breach["kind"] == "ungated"], 30)
    assert naming.finalizer(run) in breaches[0]["evidence"]
    assert {beside for _, beside, *_ in site.journal("beside")} == {run}
    assert site.witness.most_live == CEILING
    site.ender.lasts = 0.0
    site.all_submitted(WITHIN)
    nothing_is_left(site)
    check(site)


def test_the_server_is_killed_and_answers_are_lost(site: Site, embedded: Program, note: Note) -> None:
    lossy = [
        {"action": "drop_response", "resource": resource, "chance": 0.1, "seed": seed}
        for seed, resource in enumerate(("leases", "jobs"))
    ]
    unwatched = [{**rule, "method": method} for rule in lossy for method in ("POST", "PUT", "PATCH", "DELETE")]
    site.client.call("PUT", "/faults", {"rules": unwatched}).ok()
    for party in PARTIES[:2]:
        site.open(site.plan(party, 2 * SCALE, factor=QUICK))
    for _ in range(SCALE):
        site.another_start()
        embedded.kill()
        embedded.start()
        site.client.call("PUT", "/faults", {"rules": unwatched}).ok()
    site.all_submitted(WITHIN)
    site.client.call("PUT", "/faults", {}).ok()
    nothing_is_left(site)
    check(site)
    assert site.journal("beside") == []
    note("server killed, submits started, revisions", (SCALE, len(site.journal("start")), site.witness.revisions))
