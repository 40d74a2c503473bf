"""What must never happen and did, told to whoever looks at the gate: what it means and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from submits import live

WORDS = {
    "ceiling": (
        "More searches run than may.",
        "Nothing is stopped; new ones wait until there is room. Tell an operator: a way in does not keep to the gates.",
    ),
    "unmarked": (
        "A search began without a reserved place.",
        "It is counted from now on. Tell an operator: somebody removed its reservation, or a worker stood still.",
    ),
    "v1": (
        "An older API service counts the running searches differently.",
        "It may start one too many. Tell an operator: what marks searches for it cannot be made or removed.",
    ),
    "ungated": (
        "A search was handed over without door A.",
        "Whoever does that voids both doors. Tell an operator who else may create Jobs in this namespace.",
    ),
}


@dataclass(frozen=True)
class Banner:
    kind: str
    title: str
    next_step: str
    at: str
    evidence: str


def banners(view: live.View) -> list[Banner]:
    """Newest first."""
    return [Banner(b["kind"], *WORDS[b["kind"]], b["at"], b["evidence"]) for b in view["breaches"]]
