"""Settings that contradict each other. Pure: numbers in, the rules they break out, each with an id of its own.

Who runs in a process of its own (web, worker, gatekeeper, an API) asks for them at its start and refuses to go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from submits.gates.announcing import GONE_TRIES
from submits.gates.ports import Rules


@dataclass(frozen=True)
class Broken:
    """`key` tells the rules apart, `hint` says what to do."""

    key: str
    sentence: str
    hint: str


def under_the_gate(rules: Rules) -> dict[str, float]:
    """What an attempt may do between taking the gate and giving it back, in seconds each, in its order.

    Every request may be repeated for `heartbeat` seconds; the release for `release_for`.
    """
    times = rules.times
    return {
        "announcing, counting and proving": times.announce_to_fence + times.heartbeat,
        "the submit": rules.knobs.exec_timeout,
        "its leash": times.leash,
        "killing it": times.grace + times.kill,
        "the quiet after a kill": times.quiet_after_kill,
        "looking it up": 2 * times.heartbeat,
        "sweeping what it left": GONE_TRIES * times.between_looks,
        "leaving the line": times.heartbeat,
        "the release": times.release_for,
    }


def summed(parts: dict[str, float]) -> tuple[float, str]:
    """The seconds, and of what they are made, as words."""
    return sum(parts.values()), " + ".join(f"{seconds:g} s {what}" for what, seconds in parts.items())


def hold_fits(rules: Rules) -> list[Broken]:
    (total, told), ttl = summed(under_the_gate(rules)), rules.knobs.lease_ttl
    if total < ttl:
        return []
    return [
        Broken(
            "E001",
            f"BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS={rules.knobs.exec_timeout:g}: what is done while the gate is held may "
            f"last {total:g} s ({told}), which does not fit into BLAST_SUBMIT_LEASE_TTL_SECONDS={ttl:g}: an older door "
            "could take the gate meanwhile",
            "Lower the first, or raise the second at every door of the namespace.",
        )
    ]


def until_it_is_quiet(rules: Rules) -> dict[str, float]:
    """From the POST of an attempt's reservation to the last moment at which something of its submit may still arrive:
    the holder is stopped just before the submit's cap, and its leash ends it. Seconds each, in their order."""
    times = rules.times
    return {
        "announcing and counting": times.announce_to_fence,
        "the submit": rules.knobs.exec_timeout,
        "its leash": times.leash,
        "killing it": times.grace + times.kill,
        "what it has sent": times.quiet_after_kill,
    }


def place_lasts(rules: Rules) -> list[Broken]:
    """A reservation goes by itself at its deadline, and no marker may go while its own attempt can still write."""
    (total, told), lasts = summed(until_it_is_quiet(rules)), rules.times.reservation
    if total < lasts:
        return []
    return [
        Broken(
            "E009",
            f"BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS={rules.knobs.exec_timeout:g}: a submit may write for {total:g} s after "
            f"its place was announced ({told}), and the place goes after {lasts:g} s: another could take it meanwhile",
            f"Give less than {lasts - total + rules.knobs.exec_timeout:g}.",
        )
    ]


def limits_grow(exec_timeout: float, soft: float, hard: float, visibility: float) -> list[Broken]:
    """A task must outlast its submit, its kill its warning, and its message both."""
    if exec_timeout < soft < hard < visibility:
        return []
    return [
        Broken(
            "E002",
            f"BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS={exec_timeout:g} < CELERY_TASK_SOFT_TIME_LIMIT={soft:g} < "
            f"CELERY_TASK_TIME_LIMIT={hard:g} < visibility timeout={visibility:g} does not hold",
            "Each must be above the one before; the last is twice CELERY_TASK_TIME_LIMIT.",
        )
    ]


def yield_is_patient(rules: Rules) -> list[Broken]:
    ours, theirs = rules.knobs.v1_yield, rules.times.skip_after
    if ours < theirs:
        return []
    return [
        Broken(
            "E005",
            f"BLAST_V1_YIELD_SECONDS={ours:g} is not below {theirs:g}: who gives way would be skipped as dead",
            "Give a smaller one.",
        )
    ]


def layers_cross(backends: Iterable[str]) -> list[Broken]:
    """`backends`: the dotted names of the channel layers."""
    if not any("InMemory" in name for name in backends):
        return []
    return [
        Broken(
            "E004",
            "the in-memory channel layer crosses no process: pages would never hear of anything",
            "Use coordui.layers.HintLayer.",
        )
    ]


def one_place(namespaces: dict[str, str], servers: dict[str, str]) -> list[Broken]:
    """What each part works in (by its name): a count of another namespace, or under another credential, counts nothing
    that the submit makes."""
    broken = []
    for key, what, found in (("E006", "namespace", namespaces), ("E007", "cluster and credential", servers)):
        if len(set(found.values())) > 1:
            told = ", ".join(f"{part}: {value}" for part, value in sorted(found.items()))
            hint = "Give all of them the same; COORDUI_NAMESPACE and COORDUI_CONTEXT say which."
            broken.append(Broken(key, f"gates, count and engine are not of one {what} ({told})", hint))
    return broken
