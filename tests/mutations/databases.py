"""What is found of databases, and what follows from it."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

CATALOGUE = "tests/test_catalogue.py::"
AWAY = "tests/test_database_away.py::"
CHANGES = f"{CATALOGUE}test_what_changes_is_told_and_what_does_not_costs_nothing"

MUTATIONS = [
    Mutation(
        "databases: a place that is away takes all out",
        "submits/catalogue.py",
        "    if report.trouble:\n",
        "    if False:\n",
        (f"{CATALOGUE}test_a_place_that_is_away_takes_nothing_out_and_is_told",),
    ),
    Mutation(
        "databases: one that is mended stays out",
        "submits/catalogue.py",
        "        if database.trouble:\n",
        "        if False:\n",
        (CHANGES,),
    ),
    Mutation(
        "databases: what an administrator took out comes back",
        "submits/catalogue.py",
        "        if database.trouble:\n",
        "        if True:\n",
        (f"{CATALOGUE}test_what_an_administrator_took_out_stays_out_whatever_happens_to_its_files",),
    ),
    Mutation(
        "databases: what has not changed is asked of BLAST",
        "submits/blast/report.py",
        "if before.marks.get(path) == mark_of(path, files) else None",
        "if False else None",
        (CHANGES,),
    ),
    Mutation(
        "databases: one that was replaced while it was fetched is searched",
        "submits/engine/stored.py",
        "    if (held := out.stat().st_size) != bucket.size(key):",
        "    if (held := out.stat().st_size) < 0:",
        ("tests/engine/test_stored.py::test_one_is_fetched_whole_with_all_its_volumes_and_no_other",),
    ),
    Mutation(
        "databases: every look begins a Job",
        "submits/engine/scanjob.py",
        "        if begin:\n",
        "        if True:\n",
        ("tests/engine/test_scanjob.py::test_a_database_appears_on_the_volume_and_is_searched",),
    ),
    Mutation(
        "databases: one that is away ends what waits for it",
        "submits/preparing.py",
        "    if now >= until:\n",
        "    if True:\n",
        (f"{AWAY}test_it_is_waited_for_and_taken_up_when_a_look_finds_it_again",),
    ),
    Mutation(
        "databases: one that is away is waited for without end",
        "submits/preparing.py",
        "created_at__gt=waited)",
        "created_at__lt=now)",
        (f"{AWAY}test_it_is_not_waited_for_longer_than_a_wait_may_last",),
    ),
    Mutation(
        "databases: one that an administrator offers is waited for all the same",
        "submits/preparing.py",
        "Q(database__ready=False, reason",
        "Q(reason",
        (f"{AWAY}test_one_that_an_operator_offers_all_the_same_is_searched",),
    ),
    Mutation(
        "databases: what is waited for is said as it was first",
        "submits/preparing.py",
        ' & Q(detail__contains=F("database__trouble"))',
        "",
        (f"{AWAY}test_what_it_waits_for_follows_what_a_later_look_finds",),
    ),
    Mutation(
        "databases: one that is taken out for good is thought to come back",
        "submits/admin.py",
        'update(ready=False, trouble="", trouble_since=None)',
        "update(ready=False)",
        (f"{AWAY}test_one_that_is_taken_out_for_good_is_not_offered_by_the_next_look",),
    ),
    Mutation(
        "databases: a look that is slow to start is trouble",
        "submits/engine/scanjob.py",
        "held is None or held.reason is Reason.START_DELAYED",
        "held is None",
        ("tests/engine/test_scanjob.py::test_a_pod_that_is_slow_to_start_is_no_trouble_of_the_place",),
    ),
    Mutation(
        "work store: credentials that open nothing are a refusal of one object",
        "submits/work/objects.py",
        "return code in REFUSALS",
        "return isinstance(error, PermissionError) or code in REFUSALS",
        ("tests/test_store_away.py::test_credentials_that_open_nothing_are_no_refusal_of_one_object",),
    ),
    Mutation(
        "work store: an object that it refuses to give is an outage",
        "submits/work/objects.py",
        "if asked and not is_refusal(error):",
        "if asked:",
        ("tests/test_store_away.py::test_an_outcome_that_can_never_be_read_keeps_nobody_elses_end_back",),
    ),
]
