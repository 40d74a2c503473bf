"""What was last found in the place of databases, kept in the work store: whoever looked there says it to all others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from submits.blast.databases import DatabaseError
from submits.blast.facts import is_stored
from submits.blast.report import Report, survey
from submits.engine import jobs, stored
from submits.work import Missing, WorkStore

DIRECTORY = jobs.DATABASES
REPORT = f"{DIRECTORY}/report.json"  # what was registered last
SCANNED = f"{DIRECTORY}/scanned.json"  # what a Pod has found, which nobody may have registered yet


def last(store: WorkStore, key: str = REPORT) -> Report:
    """An empty report before the first look; one that cannot be read, of another version perhaps, counts as none."""
    try:
        return Report.from_json(store.get(key))
    except (Missing, ValueError, KeyError, TypeError):
        return Report()


def keep(store: WorkStore, report: Report, before: Report, key: str = REPORT) -> Report:
    if report != before:
        store.put(key, report.to_json())
    return report


def scan(store: WorkStore, place: str, key: str = REPORT) -> Report:
    """Looks at a place and keeps what is found; when it cannot be looked at, why, beside what was found before.

    That nothing is there any more is believed when the next look finds nothing either: a volume may be away for a
    moment. Two at once are harmless: each keeps a whole report, and the next look mends the older one.
    """
    before = last(store, key)
    try:
        report = stored.survey(place, before) if is_stored(place) else survey(Path(place), before)
    except DatabaseError as error:
        report = troubled(before, place, str(error))
    emptied = before.place == place and before.found and not (report.found or report.damaged)
    if emptied and before.trouble != (why := f"No database is found any more in {place}."):
        report = troubled(before, place, why)
    return keep(store, report, before, key)


def troubled(before: Report, place: str, why: str) -> Report:
    return replace(before if before.place == place else Report(place), trouble=why)
