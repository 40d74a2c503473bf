"""The pages' data as JSON; `gate`, `active_submissions`, `lease_holder` and `wait_elapsed` as at every other door."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponseBase, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from submits import live
from submits.models import Submission
from submits.scopes import rules
from submits.shown import mine, one, telling
from submits.shown.look import Look, Viewer, home
from submits.shown.pages import NotYours
from submits.shown.pages import find as find_row
from submits.shown.scene import Known
from submits.views.access import AWAY, SignedInRequest, problem, signed_in, viewer

A_PAGE = 200
PLACE = ("position", "party", "since", "skipped")
SLOT = ("what", "party", "since", "batches", "batches_done", "merging", "held_up", "words")
STUCK = ("name", "since", "last_change", "evidence")
TIMES = ("created_at", "ticket_at", "until", "next_try_at", "submitted_at", "cancel_at", "finished_at", "updated_at")
PLAIN = ("program", "queries", "letters", "batches", "batches_done", "queries_with_hits", "hits")
COUNTED = ("tries", "outages", "attempt", "token")


@require_safe
@signed_in
def gate(request: SignedInRequest) -> JsonResponse:
    look = Look.at(home())
    known = look.known(viewer(request))
    view, lease = look.view, look.view["lease"]
    return JsonResponse(
        {
            "scope": str(look.scope),
            "gate": look.gate,
            "active_submissions": f"{view['active']}/{view['ceiling']}",
            "active": view["active"],
            "ceiling": view["ceiling"],
            "drained": view["drained"],
            "backend": view["health"]["backend"],
            "lease_holder": lease["holder"],
            "lease": {**{k: v for k, v in lease.items() if k != "run_id"}, **named(lease["run_id"], known)},
            "line": [{**part(place, PLACE), **named(place["run_id"], known)} for place in view["line"]],
            "slots": [{**part(slot, SLOT), **named(slot["run_id"], known)} for slot in view["slots"]],
            "stuck": [part(stuck, STUCK) for stuck in view["stuck"]],
            "breaches": view["breaches"],
            "breach_counts": view["breach_counts"],
            "version": look.version,
            "seen_at": iso(look.stamped_at),
            "stale": look.stale,
        }
    )


def part(record: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: record.get(name) for name in names}  # an older version's snapshot lacks what is new


def named(run_id: str | None, known: dict[str, Known]) -> dict[str, Any]:
    """Which search it is, for those who may know; for everybody else it is another search."""
    found = known.get(run_id or "")
    return {"submission": found.key if found else None, "title": found.title if found else None}


@require_safe
@signed_in
def searches(request: SignedInRequest) -> JsonResponse:
    filters = mine.Filters.of(request.GET)
    page = Paginator(mine.rows(viewer(request), filters), A_PAGE).get_page(filters.page)
    look = Look.at(home())
    return JsonResponse(
        {
            "count": page.paginator.count,
            "page": page.number,
            "pages": page.paginator.num_pages,
            "searches": [told(row, look, viewer(request)) for row in page],
        }
    )


@require_safe
@signed_in
def search(request: SignedInRequest, key: str) -> HttpResponseBase:
    try:
        row = find_row(viewer(request), key)
    except NotYours:
        return problem(404, "not_found", "There is no such search.")
    return JsonResponse(told(row, Look.at(row.scope), viewer(request)))


def told(row: Submission, look: Look, who: Viewer) -> dict[str, Any]:
    standing = live.standing(row, look.view, look.stamped_at, look.now)
    said = telling.tell(row, look.view, standing["position"], look.now)
    return {
        "submission": row.key,
        "run_id": row.run_id,
        "elb_job_id": row.run_id,
        "title": row.title,
        "owner": row.owner.get_username(),
        "database": row.database.key,
        "options": row.options,
        "status": row.status,
        "phase": row.phase,
        "reason": row.reason or None,
        "reason_kind": row.explained.kind if row.explained else None,
        "sentence": said.sentence,
        "next_step": said.next_step,
        "detail": row.detail,
        **{name: getattr(row, name) for name in (*PLAIN, *COUNTED)},
        **standing,
        "ceiling": look.view["ceiling"] if standing["gate"] else None,
        "deadlines": deadlines(row),
        "cancel_by": row.cancel_by or None,
        **{name: iso(getattr(row, name)) for name in TIMES},
        **stored(row),
    }


def deadlines(row: Submission) -> dict[str, str | None]:
    """By gate: when its wait is over if the line does not move."""
    knobs = rules().knobs
    longest = {"A": knobs.submit_wait_max, "B": knobs.capacity_wait_max}
    return {gate: iso(row.wait_ends(knob)) for gate, knob in longest.items()}


def stored(row: Submission) -> dict[str, Any]:
    """The links; without those that are known only to the work store, and with a sentence, while that is away."""
    try:
        return {"links": links(row, one.partial(row)), "work_store": None}
    except OSError:
        return {"links": links(row, 0), "work_store": f"{AWAY}."}


def links(row: Submission, partial: int) -> dict[str, str]:
    """`partial`: how many batches' tables can be taken away."""
    made = {"page": reverse("search", args=[row.key]), "log": reverse("log_text", args=[row.key])}
    if row.status == "completed":
        made |= {kind: reverse(kind, args=[row.key]) for kind in ("tsv", "fasta")}
    if partial:
        made["partial"] = reverse("partial", args=[row.key])
    return made


def iso(at: Any) -> str | None:
    return at.isoformat() if at else None
