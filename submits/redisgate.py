"""The older gates, in the key-value store, behind the same admit(): a lock, or slots. (PROTOCOL, 7: precedence.)

    lock   elb:blast:elastic-blast-submit:<cluster>:<namespace>   the holder's name, by SET NX EX
    slots  elb:blast:slots:<cluster>                              a hash: holder → when it ends, by HLEN < max

Every step is one Lua script that tests who holds and then writes, so it may be sent twice; a store that does not answer
is an error and never "busy". The guarantee: at most so many submits at once while the store lives and keeps what it was
told. The limits: a store that loses its data lets two submits overlap until the next heartbeat; a process that dies
keeps its place until the time runs out; and nothing is counted, so the searches that run are not bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from submits.gates.admission import hold_gate
from submits.gates.announcing import was_submitted
from submits.gates.attempt import Attempt
from submits.gates.backends import Backend
from submits.gates.census import read_controls
from submits.gates.hold import Busy, Hold, Lost, until_definite
from submits.gates.ports import ClusterError, Unanswered
from submits.gates.settling import run_submit, settle
from submits.gates.verdicts import Back, Means, Outcome, Run, Verdict
from submits.states import Phase, Reason

T = TypeVar("T")
ANSWERS_WITHIN = 5.0  # seconds, for each question to the store
Words = tuple[str, str, str, str]

# KEYS[1]; ARGV: holder, seconds, room. Of the first three 1 is yes; a look gives holder, seconds left, holder, …
LOCK: Words = (
    """if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then return 1 end
       return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0""",
    """if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
       return redis.call('EXPIRE', KEYS[1], ARGV[2])""",
    """if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
       return redis.call('DEL', KEYS[1])""",
    """local holder = redis.call('GET', KEYS[1])
       return holder and {holder, redis.call('TTL', KEYS[1])} or {}""",
)
# An end that is no number was written by somebody else: it holds until the whole hash expires.
LIVING = """local now, found = tonumber(redis.call('TIME')[1]), redis.call('HGETALL', KEYS[1])
            local living = {}
            for i = 1, #found, 2 do
              local left = (tonumber(found[i + 1]) or now + redis.call('TTL', KEYS[1])) - now
              if tonumber(found[i + 1]) and left <= 0 then redis.call('HDEL', KEYS[1], found[i])
              else living[#living + 1] = found[i]; living[#living + 1] = left end
            end
         """
KEEP = """redis.call('HSET', KEYS[1], ARGV[1], redis.call('TIME')[1] + ARGV[2])
          if redis.call('TTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
          return 1"""
SLOTS: Words = (
    LIVING
    + "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and #living / 2 >= tonumber(ARGV[3]) then return 0 end "
    + KEEP,
    "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end " + KEEP,
    "return redis.call('HDEL', KEYS[1], ARGV[1])",
    LIVING + "return living",
)


class StoreUnanswered(Unanswered):
    """The store refused or did not answer: whether the gate is held is not known."""


@dataclass(frozen=True)
class Held:
    holder: str
    seconds: float  # until it ends by itself


class StoreGate:
    """One gate in the store; a place that nobody renews lasts `seconds`. Every verb raises StoreUnanswered."""

    def __init__(self, store: Redis, backend: Backend, cluster: str, namespace: str, seconds: int, slots: int) -> None:
        self.backend, self.seconds = backend, seconds
        locks = backend is Backend.LOCK
        self.key = f"elb:blast:elastic-blast-submit:{cluster}:{namespace}" if locks else f"elb:blast:slots:{cluster}"
        self.room = 1 if locks else slots
        self.scripts = [store.register_script(words) for words in (LOCK if locks else SLOTS)]

    def ask(self, number: int, holder: str = "") -> Any:
        try:
            return self.scripts[number]([self.key], [holder, self.seconds, self.room])
        except (RedisError, OSError) as error:
            raise StoreUnanswered(f"the key-value store does not answer for {self.key}: {error}") from error

    def take(self, holder: str) -> bool:
        return bool(self.ask(0, holder))

    def renew(self, holder: str) -> bool:
        return bool(self.ask(1, holder))

    def release(self, holder: str) -> bool:
        return bool(self.ask(2, holder))

    def held(self) -> list[Held]:
        """Who holds it now, the longest last."""
        told = cast(Sequence[Any], self.ask(3))
        found = [Held(name.decode(), float(left)) for name, left in zip(told[::2], told[1::2], strict=True)]
        return sorted(found, key=lambda one: one.seconds)


def store_gate(url: str, backend: Backend, cluster: str, namespace: str, seconds: int, slots: int) -> StoreGate:
    """`backend` is one of the two in the store; connects when it is first asked."""
    patience = {"socket_timeout": ANSWERS_WITHIN, "socket_connect_timeout": ANSWERS_WITHIN}
    # What an answer means, and whether to ask again, is for the steps to say.
    store = Redis.from_url(url, **patience, retry=Retry(NoBackoff(), 0))
    return StoreGate(store, backend, cluster, namespace, seconds, slots)


class StoreHold(Hold):
    """One acquisition of a gate in the store: renewed, proven and given back as that of the Lease is."""

    def __init__(self, gate: StoreGate, run: Run, means: Means) -> None:
        super().__init__(means.cluster, means.clock, means.rules, run.party, run.run_id, means.submit.leashed)
        self.gate = gate

    def definite(self, write: Callable[[str], T], limit: float) -> T:
        return until_definite(lambda: write(self.holder), self.clock, limit)

    def take(self) -> None:
        """Raises Busy; StoreUnanswered when it cannot be known."""
        self.asked = self.sent = self.clock.boot()  # if the first write was the one that counted
        if not self.definite(self.gate.take, self.rules.times.heartbeat):
            raise Busy(", ".join(held.holder for held in self.gate.held()))

    def renew(self) -> None:
        sent = self.clock.boot()
        try:
            mine = self.gate.renew(self.holder)
        except StoreUnanswered:
            return  # the next beat's to settle; `renew_if_due` and the leash see to a silence that lasts
        if not mine:
            raise Lost(f"{self.gate.key} has another holder, or none")
        self.sent = sent

    def prove(self) -> None:
        sent = self.clock.boot()
        if not self.definite(self.gate.renew, self.rules.times.heartbeat):
            raise Lost(f"{self.gate.key} has another holder, or none")
        self.sent = sent

    def release(self) -> bool:
        try:
            self.definite(self.gate.release, self.rules.times.release_for)
        except ClusterError:
            return False
        return True


def admit(gate: StoreGate, run: Run, means: Means) -> Verdict:
    """Try once, as `gates.admission.admit` does, and with its outcomes. Never raises ClusterError.

    1. take a place in the store           busy: SHUT. No answer: UNKNOWN
    2. look at the controls; look the run up in the cluster     its finalizer: 5
    3. renew: the proof just before what cannot be undone
    4. run the submit                      leashed, capped; a place that is lost has it killed
    5. reap it, then look the run up
    6. give the place back, if it is still ours
    """

    def without_token(phase: Phase, **facts: Any) -> bool | None:
        facts.pop("token", None)  # a store has none that only grow
        return means.report(phase, **facts)

    hold = StoreHold(gate, run, means)
    attempt = Attempt(run, replace(means, report=without_token), in_line=False, hold=hold)

    def inside() -> Verdict:
        controls = attempt.asking(lambda: read_controls(attempt.cluster))  # 2
        if controls.stop(run.party):
            raise Back(Outcome.SHUT, Reason.DRAINED if controls.drained else Reason.PATH_PAUSED)
        if not was_submitted(attempt):
            hold.prove()  # 3
            run_submit(attempt)  # 4
        return settle(attempt)  # 5

    verdict = hold_gate(attempt, inside)  # 1 and 6
    full = gate.backend is Backend.SLOTS and verdict.reason is Reason.WAITING_FOR_SUBMIT_SLOT
    return replace(verdict, reason=Reason.WAITING_FOR_CAPACITY) if full else verdict
