"""Whether everything a search needs answers: the database, the store, the work store, the gatekeeper, and by what it
says the cluster and our power there.

Nothing of it takes longer than two seconds, and no request asks the cluster itself.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from django.conf import settings
from django.db import DatabaseError, connection
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from submits import elastic, live, rowclock, scopes
from submits.engine import scanning
from submits.scopes import default_scope
from submits.work import WorkError, WorkStore, brisk

WITHIN = 2.0  # seconds
WORK_STORE = "the work store"
UNHEARD = "not known: the gatekeeper says it, and has not been heard"
# What hangs holds one of these threads and no request; when all are held, nothing answers within two seconds.
asking = ThreadPoolExecutor(4, thread_name_prefix="readyz")
asking_files = ThreadPoolExecutor(2, thread_name_prefix="readyz-files")  # an object store hangs for longer


@dataclass(frozen=True)
class Found:
    """`why` says in a sentence what is not so; "" when all is well."""

    why: str = ""

    @property
    def ok(self) -> bool:
        return not self.why


def look() -> tuple[dict[str, Found], str]:
    """By dependency: database, store, work store, an engine that is not ours, the place of databases, gatekeeper,
    cluster, permissions; and where the gates are."""
    database, store, files = asking.submit(ask_database), asking.submit(ask_store), asking_files.submit(ask_files)
    found = {"database": answered(database, "the database"), "store": answered(store, "the store")}
    view, stamped_at, now = live.empty_view(0), None, datetime.now(UTC)
    if found["database"].ok:
        try:
            (view, stamped_at, _), now = live.read(default_scope()), rowclock.now()
        except DatabaseError as error:
            found["database"] = Found(f"the database does not answer: {error}")
    found["work_store"] = answered(files, WORK_STORE)
    if elastic.is_chosen():
        found["engine"] = told_there(elastic.kept, found["work_store"])
    if settings.COORDUI_BLASTDB:
        found["databases"] = told_there(lambda files: scanning.last(files).trouble, found["work_store"])
    return {**found, **judge(view, stamped_at, now)}, view["health"]["backend"]


def judge(view: live.View, stamped_at: datetime | None, now: datetime) -> dict[str, Found]:
    """What the last snapshot tells, and whether it is young enough to be believed. Pure."""
    if stamped_at is None:
        return {"gatekeeper": Found("it has never reported"), "cluster": Found(UNHEARD), "permissions": Found(UNHEARD)}
    if live.is_stale(stamped_at, now):
        silent = f"it has not reported for {(now - stamped_at).total_seconds():.0f} s"
        return {"gatekeeper": Found(silent), "cluster": Found(UNHEARD), "permissions": Found(UNHEARD)}
    health = view["health"]
    power = health["power"]
    lacks = "not asked yet" if power is None else "; ".join(power)
    cluster = Found("" if health["silence"] is None else f"it does not answer: {health['silence']}")
    return {"gatekeeper": Found(), "cluster": cluster, "permissions": Found(lacks)}


def answered(question: Future[str], what: str) -> Found:
    try:
        return Found(question.result(WITHIN))
    except TooLate:
        question.cancel()
        return Found(f"{what} did not answer within {WITHIN:g} s")
    except (WorkError, OSError) as error:
        return Found(f"{what} does not answer: {error}")


def told_there(ask: Callable[[WorkStore], str], files: Found) -> Found:
    """What somebody has left word of in the work store, which is not asked again when it has just not answered."""
    if not files.ok:
        return Found(f"not known: {WORK_STORE} says it, and does not answer")
    return answered(asking_files.submit(ask, scopes.store()), WORK_STORE)


def ask_database() -> str:
    """In a thread of its own, so with a connection of its own."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return ""
    except DatabaseError as error:
        return f"the database does not answer: {error}"
    finally:
        connection.close()


@brisk()
def ask_files() -> str:
    """For a file that need not be there: an answer is all that is wanted. Raises WorkError and OSError."""
    scopes.store().exists(elastic.FOUND)
    return ""


@lru_cache(maxsize=1)
def store(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0))


def ask_store() -> str:
    try:
        store(settings.REDIS_URL).ping()
        return ""
    except (RedisError, OSError) as error:
        return f"the store does not answer: {error}"
