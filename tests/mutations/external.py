"""elastic-blast as the engine: what it is given, what it may see, what is looked up afterwards, how it ends."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

ROOM = "submits/engine/external/"
SUBMIT = f"{ROOM}submit.py"
TESTS = "tests/engine/external/"
INI, EXITS, FOLLOW, RESULTS, FORK = (f"{TESTS}test_{name}.py" for name in ("ini", "exits", "follow", "results", "fork"))
SEES = f"{FORK}::test_it_sees_its_own_home_one_context_and_nothing_of_ours"
MARKED = f"{FORK}::test_markers_that_are_not_as_they_must_be_are_said_and_keep_the_alarm"
FAILS = f"{FORK}::test_a_failure_takes_back_our_job_and_says_what_it_means"
KILLED = f"{FORK}::test_a_kill_with_a_grace_is_an_interrupt_to_it"
LATE = f"{FORK}::test_a_failure_after_its_finalizer_was_made_loses_nothing"
WELL = f"{FORK}::test_a_kill_takes_back_nothing_of_one_that_ended_well"
KEPT = "tests/engine/test_leashed.py::test_it_is_kept_on_request_without_any_credential"
READ = "tests/test_elastic.py"

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
        (RESULTS,),
    ),
    Mutation(
        "external: a store that does not answer says that results are elsewhere",
        f"{ROOM}results.py",
        "    except Unstored:\n        raise\n",
        "",
        (FOLLOW,),
    ),
    Mutation(
        "external: a gap in the batches is not seen",
        f"{ROOM}results.py",
        "set(self.found) == self.asked == set(range(len(self.asked)))",
        "self.asked == set(range(len(self.asked)))",
        (RESULTS,),
    ),
    Mutation(
        "external: the first batch may be missing",
        f"{ROOM}results.py",
        "set(self.found) == self.asked == set(range(len(self.asked)))",
        "set(self.found) == self.asked",
        (RESULTS,),
    ),
    Mutation(
        "external: an early success is not waited for",
        f"{ROOM}follow.py",
        "return self.seen.ending if self.settled(jobs) else None",
        "return self.seen.ending",
        (FOLLOW,),
    ),
    Mutation(
        "external: a Job at work does not count",
        f"{ROOM}follow.py",
        'if any(is_work(job) and state_of(job)[0] == "alive" for job in jobs):',
        "if False:",
        (FOLLOW,),
    ),
    Mutation(
        "external: batches of queries that went are forgotten",
        f"{ROOM}follow.py",
        "self.seen = replace(seen, asked=seen.asked | self.seen.asked)",
        "self.seen = seen",
        (FOLLOW,),
    ),
    Mutation(
        "external: cut off counts before what is there",
        f"{ROOM}follow.py",
        "if handed.submitted or self.seen.found:",
        "if handed.submitted:",
        (FOLLOW,),
    ),
    Mutation(
        "external: a formatter that hangs is an error of ours",
        f"{ROOM}results.py",
        "except subprocess.TimeoutExpired:",
        "except subprocess.CalledProcessError:",
        (RESULTS,),
    ),
    Mutation(
        "external: the reader beside the fork's finalizer is taken back",
        SUBMIT,
        'mine = ours and handed.markers == "ours"',
        "mine = ours",
        (LATE,),
    ),
    Mutation(
        "external: an interrupt takes back what ended well",
        f"{ROOM}running.py",
        "if interrupted is not None and status:",
        "if interrupted is not None:",
        (WELL,),
    ),
    Mutation(
        "external: a signal after its end is heard",
        f"{ROOM}running.py",
        "        at_its_end()\n",
        "",
        (WELL,),
    ),
    Mutation(
        "external: that it is submitted is kept once or never",
        SUBMIT,
        "if self.now() + pause > end:",
        "if True:",
        (f"{FORK}::test_that_it_is_submitted_is_kept_once_the_store_is_back",),
    ),
    Mutation(
        "external: a search of more than two days is cut off",
        f"{ROOM}markers.py",
        '    body["spec"]["activeDeadlineSeconds"] = longest + settings.deadline\n',
        "",
        (f"{FORK}::test_the_pod_that_follows_may_wait_as_long_as_the_program_does",),
    ),
    Mutation(
        "external: a kept directory has credentials",
        "submits/engine/kept.py",
        "            shutil.rmtree(path)\n",
        "            continue\n",
        (KEPT,),
    ),
    Mutation(
        "external: a kept file has a key",
        "submits/engine/kept.py",
        'told = _KEY.sub(rb"\\1", text)',
        "told = text",
        (KEPT,),
    ),
    Mutation(
        "external: a row that is read has ended",
        "submits/reconcile.py",
        'if any(state_of(job)[0] == "alive" for job in reading):',
        "if False:",
        (f"{READ}::test_a_search_whose_results_are_still_read_has_not_failed",),
    ),
    Mutation(
        "external: a row whose finalizer is gone is not asked for its reader",
        "submits/reconcile.py",
        "    reading = readers(submission, cluster)\n",
        '    reading = readers(submission, cluster) if how_far.finalizer != "absent" else ()\n',
        (f"{READ}::test_one_whose_finalizer_is_gone_is_not_lost_while_it_is_read",),
    ),
    Mutation(
        "external: a search whose results nobody could read has failed",
        "submits/reconcile.py",
        "*(results_unread(submission, how_far, reading) or ended)",
        "*ended",
        (f"{READ}::test_results_that_nobody_could_read_may_be_there",),
    ),
    Mutation(
        "external: a Job that has read is reading",
        "submits/reconcile.py",
        'if any(state_of(job)[0] == "alive" for job in reading):',
        "if reading:",
        (f"{READ}::test_a_search_whose_results_are_still_read_has_not_failed",),
    ),
    Mutation(
        "external: a Job that is counted and has not ended has read",
        "submits/reconcile.py",
        'if any(state_of(job)[0] == "alive" for job in reading):',
        "if any(not is_terminal(job) for job in reading):",
        (f"{READ}::test_a_reader_that_has_no_condition_yet_is_waited_for",),
    ),
    Mutation(
        "external: what a reader has just written is not waited for",
        "submits/reconcile.py",
        " else ()), *reading], date)",
        " else ())], date)",
        (f"{READ}::test_a_search_whose_results_are_still_read_has_not_failed",),
    ),
    Mutation(
        "external: a reader that ends while its row is looked at has read nothing",
        "submits/reconcile.py",
        " or by_outcome(submission):",
        ":",
        (f"{READ}::test_an_outcome_that_is_written_while_the_row_is_looked_at_ends_it",),
    ),
    Mutation(
        "external: a reader that failed without a message says nothing",
        "submits/reconcile.py",
        "words = message or reason",
        "words = message",
        (f"{READ}::test_a_reader_that_has_no_condition_yet_is_waited_for",),
    ),
    Mutation(
        "external: no room costs a try",
        "submits/flow.py",
        "if exit_code == Exit.NOT_READY:",
        "if False:",
        ("tests/test_flow.py::test_a_cluster_without_room_is_waited_for_without_end_and_without_a_try",),
    ),
    Mutation(
        "external: a cluster that ends is tried at once",
        "submits/flow.py",
        "if exit_code == Exit.CLUSTER else back_off",
        "if False else back_off",
        ("tests/test_flow.py::test_a_cluster_of_the_cloud_that_starts_or_ends_is_given_minutes",),
    ),
    Mutation(
        "external: another try is followed",
        f"{ROOM}follow.py",
        "if handed is None or handed.attempt != self.attempt:",
        "if handed is None:",
        (FOLLOW,),
    ),
]
