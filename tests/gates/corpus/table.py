"""What has gone wrong elsewhere, in public, and the test that replays it here.

Each line: a number that never changes, what happened in our words, the public threads it comes from (repository#number;
"measured" where we saw it ourselves on an API server), and the test that fails when the rule against it is removed; or
why there is nothing to replay.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    number: int
    story: str
    source: str
    test: str = ""  # module.function, in this package
    why_not: str = ""


STUCK, TWO, CHILDREN, CLOCKS, PLACES, LINE, WIRE = (
    "test_stuck", "test_two_holders", "test_children", "test_clocks", "test_places", "test_line", "test_wire",
)  # fmt: skip

SCENARIOS = [
    Scenario(
        1,
        "A holder is killed in the middle of its work, and its Lease is held for ever.",
        "opentofu/opentofu#2997",
        f"{STUCK}.test_a_holder_that_was_killed_is_followed_after_its_own_patience",
    ),
    Scenario(
        2,
        "A node is drained under a holder, and its Lease is kept.",
        "flux-iac/tofu-controller#250",
        f"{STUCK}.test_a_holder_whose_node_was_drained_is_freed_without_anybody_waiting",
    ),
    Scenario(
        3,
        "A lock written before there were durations never expires.",
        "kubereboot/kured#822",
        f"{STUCK}.test_a_lease_without_a_duration_is_neither_eternal_nor_free",
    ),
    Scenario(
        4,
        "The lock names a node that is no more, and everybody waits for it.",
        "kubereboot/kured#137, #847",
        f"{STUCK}.test_a_holder_named_after_what_is_gone_is_judged_by_its_age_alone",
    ),
    Scenario(
        6,
        "A release is written against an old revision, refused, and not tried again.",
        "kubernetes/client-go#1289",
        f"{STUCK}.test_an_edit_between_the_last_look_and_the_release_does_not_keep_the_gate",
    ),
    Scenario(
        7,
        "A holder fails so early that its release is skipped.",
        "kubernetes/kubernetes#112023",
        f"{STUCK}.test_a_holder_that_fails_fast_gives_the_gate_back",
    ),
    Scenario(
        8,
        "A task is killed at its hard time limit, so its `finally` never unlocks.",
        "steinitzu/celery-singleton#40",
        f"{CHILDREN}.test_a_task_killed_at_its_hard_limit_takes_its_child_with_it_and_its_search_goes_on",
    ),
    Scenario(
        10,
        'A mark says "in progress" long after the operation was killed.',
        "helm/helm#8987, #7476",
        f"{STUCK}.test_a_marker_of_an_operation_that_was_killed_is_removed_and_its_search_goes_through_once",
    ),
    Scenario(
        11,
        "The coordinator starts again, and what it had locked stays locked.",
        "jenkinsci/lockable-resources-plugin#137, #500",
        f"{STUCK}.test_whoever_starts_again_sees_the_same_line_and_places_by_listing",
    ),
    Scenario(
        12,
        "A controller dies at a bad moment while it holds, and nothing goes on.",
        "argoproj/argo-workflows#8684",
        f"{STUCK}.test_a_holder_that_dies_at_any_request_costs_its_patience_and_nothing_else",
    ),
    Scenario(
        13,
        "A worker dies, and its place under the limit is never given back.",
        "rails/solid_queue#546",
        f"{STUCK}.test_a_place_of_a_worker_that_died_comes_free_by_itself",
    ),
    Scenario(
        14,
        "A holder loses its lock, and its work goes on beside the next one's.",
        "kubernetes/kubernetes#23731, cilium/cilium#42920",
        f"{TWO}.test_a_holder_that_lost_its_lock_stops_its_work",
    ),
    Scenario(
        15,
        "A supervisor ends, its child lives, and another node starts a second.",
        "ybrs/single-beat#56",
        f"{CHILDREN}.test_a_supervisor_that_is_stopped_does_not_keep_its_child_alive",
    ),
    Scenario(
        17,
        "A pause between taking a lock and acting on it: two act.",
        "etcd-io/etcd#11456, #11457, #10811",
        f"{TWO}.test_a_pause_between_taking_the_lock_and_acting_is_noticed_before_acting",
    ),
    Scenario(
        18,
        "The lock is released while what it guards still runs.",
        "kubernetes/client-go#728",
        f"{TWO}.test_the_lock_is_given_back_only_when_the_work_is_over_and_looked_at",
    ),
    Scenario(
        19,
        "A renewal fails, nobody looks at its answer, and the holder believes itself.",
        "gke-labs/kube-agents#312",
        f"{TWO}.test_an_answer_that_is_no_yes_feeds_nobody",
    ),
    Scenario(
        20,
        "After an unclean stop the limit is exceeded by what starts before the survivors are counted.",
        "rails/solid_queue#735",
        f"{TWO}.test_what_a_dead_attempt_left_is_looked_at_before_anything_new",
    ),
    Scenario(
        21,
        "An operator deletes the Lease; a holder that slept writes it anew and believes that it holds.",
        "measured",
        f"{TWO}.test_a_lock_that_an_operator_deleted_is_not_brought_back_by_a_holder_that_slept",
    ),
    Scenario(
        22,
        "A broker delivers one task twice, and both run.",
        "celery/celery#5935, #2599, celery/kombu#337",
        f"{TWO}.test_one_search_delivered_twice_is_submitted_once",
    ),
    Scenario(
        23,
        "Holders' names are cut to a length, and two are the same.",
        "dotnetpower/elastic-blast-azure",
        f"{TWO}.test_no_two_holders_have_one_name",
    ),
    Scenario(
        24,
        "The time in a Lease is believed though clocks differ; or nobody is believed for a whole term after a start.",
        "kubernetes/client-go#448, kubernetes/kubernetes#120824, kubernetes-client/csharp#1599",
        f"{CLOCKS}.test_a_writers_clock_makes_no_takeover_earlier_or_later",
    ),
    Scenario(
        25,
        "A time with three or nine digits is refused, and renewing is tried for ever.",
        "krustlet/krustlet#5, kubernetes-client/haskell#56, agentconnect-md/agentconnect#873",
        f"{CLOCKS}.test_a_renewal_that_is_refused_for_its_shape_is_said_and_not_repeated",
    ),
    Scenario(
        26,
        "A reader cannot read the time in a Lease and falls over, or takes the lock.",
        "kubernetes-client/java#2350, tomplus/kubernetes_asyncio#387, kubernetes/kubernetes#141204",
        f"{CLOCKS}.test_a_time_that_cannot_be_read_means_held_and_the_servers_stamp_decides",
    ),
    Scenario(
        28,
        "A job is done and its lock released before another's slower clock fires: it runs again.",
        "objectstack-ai/objectstack#14619",
        f"{TWO}.test_a_lock_released_within_the_clocks_differences_is_not_a_second_permission",
    ),
    Scenario(
        29,
        "After a restart one holder of a semaphore is forgotten.",
        "argoproj/argo-workflows#11098, #10286",
        f"{PLACES}.test_after_a_restart_with_every_place_taken_nobody_is_admitted",
    ),
    Scenario(
        31,
        "What is queued and does not run yet is not counted.",
        "apache/airflow#15399, #15793",
        f"{PLACES}.test_what_is_promised_and_does_not_run_yet_is_counted",
    ),
    Scenario(
        32,
        "A remembered number is too small, and more is admitted.",
        "kubernetes-sigs/kueue#14609",
        f"{PLACES}.test_every_count_is_taken_anew",
    ),
    Scenario(
        33,
        "The old claim ends before the new one begins: a gap, or a leak where it is closed badly.",
        "kubernetes-sigs/kueue#11195",
        f"{PLACES}.test_at_no_revision_is_a_search_without_a_marker_that_counts",
    ),
    Scenario(
        34,
        "Whether it is full is asked before one's own request is added: two take the last place.",
        "volcano-sh/volcano#1860, #834, #921",
        f"{PLACES}.test_of_two_that_see_the_last_place_free_one_takes_it",
    ),
    Scenario(
        36,
        "While a cache is cold the limits are skipped.",
        "ROCm/spur#745",
        f"{PLACES}.test_before_everything_has_been_listed_nothing_is_known",
    ),
    Scenario(
        38,
        "Every place is taken, says the page, and the list of what takes them is empty.",
        "PrefectHQ/prefect#8566, #17415, #8251",
        f"{PLACES}.test_a_place_shows_what_takes_it_since_when_and_why",
    ),
    Scenario(
        39,
        "A renewal answers 404 just after the work was done, and the result becomes a crash.",
        "PrefectHQ/prefect#18942",
        f"{TWO}.test_a_renewal_that_is_not_found_after_the_work_was_done_does_not_undo_it",
    ),
    Scenario(
        40,
        "Work is declared dead, its place given away, and its process runs on.",
        "PrefectHQ/prefect#18839",
        f"{CHILDREN}.test_a_place_is_given_back_only_when_the_last_of_its_processes_is_gone",
    ),
    Scenario(
        42,
        "What was evicted keeps its share for hours.",
        "kubernetes-sigs/kueue#14811",
        f"{PLACES}.test_no_reservation_without_a_living_attempt_grows_old",
    ),
    Scenario(
        43,
        "A counter and the list beside it say different things.",
        "OHDSI/Data2Evidence#3370",
        f"{PLACES}.test_what_is_shown_and_what_is_counted_come_from_one_source",
    ),
    Scenario(
        44,
        "The first in line cannot run, and free places stay free behind it.",
        "argoproj/argo-workflows#8109, #12039",
        f"{LINE}.test_a_first_that_does_not_act_costs_its_ten_seconds_once",
    ),
    Scenario(
        45,
        "A newer waiter pushes an older one out.",
        "actions/runner#2227",
        f"{LINE}.test_a_newcomer_pushes_nobody_out",
    ),
    Scenario(
        46,
        "A waiter is asleep, and no event ever wakes it.",
        "kubernetes-sigs/kueue#8653, #13969",
        f"{LINE}.test_what_no_event_tells_is_found_by_looking_again",
    ),
    Scenario(
        48,
        "A watch hangs half open, or asks for a revision that is gone again and again, or for none at all.",
        "kubernetes-client/python#1148, #1402, #2238, kubernetes-client/python-base#57, #199, "
        "Yelp/task_processing#223, apache/airflow#30400, #30425",
        f"{WIRE}.test_too_old_a_revision_is_answered_by_a_fresh_list_and_never_asked_for_again",
    ),
    Scenario(
        50,
        "A Lease is renamed, the Role is not: refused for ever, and it looks like waiting.",
        "apache/rocketmq-operator#113, flatcar/flatcar-linux-update-operator#162, "
        "knative-extensions/eventing-gitlab#73",
        f"{WIRE}.test_a_permission_that_is_missing_is_named_and_is_no_wait",
    ),
    Scenario(
        52,
        "A leader leaves, and for minutes nobody takes its place.",
        "ovn-kubernetes/ovn-kubernetes#3070",
        f"{LINE}.test_when_a_leader_leaves_the_next_may_act_at_once_and_when_it_dies_in_time",
    ),
    Scenario(
        53,
        "The documents name the Lease one way, the program another.",
        "dotnetpower/elastic-blast-azure",
        f"{WIRE}.test_the_names_are_the_ones_that_the_other_door_uses",
    ),
    Scenario(
        54,
        "A message to a slow page is dropped, and the page shows the past.",
        "django/channels_redis#62, #181, django/channels#763",
        f"{WIRE}.test_a_message_that_is_lost_is_healed_by_the_next_look",
    ),
]
