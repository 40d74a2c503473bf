"""How long searches of a scope usually wait: said only when there are enough of them to know."""

from __future__ import annotations

from datetime import timedelta

from submits.models import Submission

ENOUGH, LATEST = 5, 40


def usual(scope_pk: int) -> str:
    """The middle half of the latest waits, as a clause; "" below five ended searches."""
    rows = (
        Submission.objects.filter(scope_id=scope_pk, ticket_at__isnull=False, submitted_at__isnull=False)
        .exclude(finished_at=None)
        .order_by("-finished_at")
        .values_list("ticket_at", "submitted_at")[:LATEST]
    )
    waits = sorted((submitted - ticket) / timedelta(seconds=1) for ticket, submitted in rows if ticket and submitted)
    return spread(waits)


def spread(waits: list[float]) -> str:
    if len(waits) < ENOUGH:
        return ""
    low, high = waits[len(waits) // 4], waits[(3 * len(waits)) // 4]
    if high < 60:
        return "Usually less than a minute."
    low_minutes, high_minutes = max(1, int(low // 60)), -(-int(high) // 60)
    if low_minutes == high_minutes:
        return f"Usually about {high_minutes} min."
    return f"Usually {low_minutes} to {high_minutes} min."
