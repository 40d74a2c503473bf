"""elastic-blast as the engine: what it is given, what it may see, what is looked up afterwards, how it ends."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

ROOM = "submits/engine/external/"
SUBMIT = f"{ROOM}submit.py"
TESTS = "tests/engine/external/"
INI, EXITS, FOLLOW, FORK = (f"{TESTS}test_{name}.py" for name in ("ini", "exits", "follow", "fork"))
SEES = f"{FORK}::test_it_sees_its_own_home_one_context_and_nothing_of_ours"
MARKED = f"{FORK}::test_markers_that_are_not_as_they_must_be_are_said_and_keep_the_alarm"
FAILS = f"{FORK}::test_a_failure_takes_back_our_job_and_says_what_it_means"
KILLED = f"{FORK}::test_a_kill_with_a_grace_is_an_interrupt_to_it"

MUTATIONS = [
    Mutation("external: % is not escaped", f"{ROOM}ini.py", 'value.replace("%", "%%")', "value", (INI,)),
    Mutation(
        "external: a value may hold a line end",
        f"{ROOM}ini.py",
        'if not _PATTERNS["text"].fullmatch(value):',
        "if not value:",
        (INI,),
    ),
    Mutation(
        "external: any word goes to a shell",
        f"{ROOM}ini.py",
        "if not _WORD.fullmatch(word):",
        "if not word.isprintable():",
        (INI,),
    ),
    Mutation(
        "external: its home is ours",
        SUBMIT,
        '"HOME": str(self.directory / "home")',
        '"HOME": os.environ["HOME"]',
        (SEES,),
    ),
    Mutation(
        "external: it sees our environment",
        SUBMIT,
        "            **seen,\n",
        "            **os.environ,\n",
        (SEES,),
    ),
    Mutation(
        "external: its context is not the gates'",
        SUBMIT,
        'kubeconfig = "kubeconfig" if self.external.markers == "cli" else CLOUD',
        "kubeconfig = CLOUD",
        (SEES,),
    ),
    Mutation(
        "external: the gates' context for one that makes its own cluster",
        SUBMIT,
        'kubeconfig = "kubeconfig" if self.external.markers == "cli" else CLOUD',
        'kubeconfig = "kubeconfig"',
        (FAILS,),
    ),
    Mutation(
        "external: its markers are not looked up",
        SUBMIT,
        "trouble = markers.wrong(self.cluster, run_id, ended.out)",
        'trouble = ""',
        (MARKED,),
    ),
    Mutation(
        "external: a changed context is not said",
        SUBMIT,
        "if self.context_has_changed():",
        "if False:",
        (MARKED,),
    ),
    Mutation(
        "external: our Job is not taken back",
        SUBMIT,
        '            self.cluster.delete("jobs", name, uid)\n',
        "            pass\n",
        (FAILS,),
    ),
    Mutation(
        "external: two tries share an address",
        SUBMIT,
        'key = f"{run_id}/{self.attempt}"',
        "key = run_id",
        (FAILS,),
    ),
    Mutation(
        "external: one that makes no marker is run",
        SUBMIT,
        'if self.external.markers == "cli" and not found.keeps_id:',
        "if False:",
        (f"{FORK}::test_what_makes_no_marker_is_refused_before_anything_is_made",),
    ),
    Mutation(
        "external: no interrupt before the kill",
        f"{ROOM}running.py",
        "        process.send_signal(signal.SIGINT)\n",
        "        process.kill()\n",
        (KILLED,),
    ),
    Mutation(
        "external: SIGTERM reaches it",
        f"{ROOM}running.py",
        "    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})",
        "    signal.pthread_sigmask(signal.SIG_BLOCK, set())",
        (KILLED,),
    ),
    Mutation(
        "external: a crash is wrong input",
        f"{ROOM}exits.py",
        "if pattern.status == status and pattern.words.search(said):",
        "if False:",
        (EXITS,),
    ),
    Mutation(
        "external: a completed finalizer is a success",
        f"{ROOM}follow.py",
        'if blast and all(state == "done" for state, _, _ in blast):',
        'if state == "done":',
        (FOLLOW,),
    ),
    Mutation(
        "external: a success beside a failure counts",
        f"{ROOM}results.py",
        "if at + FAILURE in there:",
        "if at + FAILURE in there and at + SUCCESS not in there:",
        (FOLLOW,),
    ),
    Mutation(
        "external: a gap in the batches is not seen",
        f"{ROOM}results.py",
        "if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):",
        "if not numbers:",
        (FOLLOW,),
    ),
    Mutation(
        "external: another try is followed",
        f"{ROOM}follow.py",
        "if handed is None or handed.attempt != self.attempt:",
        "if handed is None:",
        (FOLLOW,),
    ),
]
