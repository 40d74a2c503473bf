"""The gate board: the picture, the sentence, and the line, the lease and the places as three columns."""

from __future__ import annotations

from submits.shown import breaches, picture, scene
from submits.shown.look import Look, Viewer, digest
from submits.shown.pieces import Context, Piece


def pieces(viewer: Viewer, look: Look) -> list[Piece]:
    known = look.known(viewer)
    audience = "operator" if viewer.operator else ",".join(sorted(k.key for k in known.values()))
    # An operator's own searches are "your search", so two operators see the same only if neither has one here.
    if viewer.operator and any(k.mine for k in known.values()):
        audience = f"operator {viewer.pk}"
    mark = digest((look.scope.pk, look.version, look.gate, look.stale, audience))

    def context() -> Context:
        drawn = scene.build(look.view, look.gate, known)
        return {
            "look": look,
            "view": look.view,
            "scene": drawn,
            "sentence": scene.sentence(drawn),
            "advice": advice(look),
            "pictures": [picture.wide(drawn), picture.tall(drawn)],
            "viewer": viewer,
            "breaches": breaches.banners(look.view),
        }

    return [Piece("board", "_board.html", mark, audience, context)]


def advice(look: Look) -> str:
    """What all this means for somebody who has a search to make."""
    if note := look.view["health"]["note"]:
        return note
    if look.gate == "unknown":
        return "Searches that run go on. New ones stand in line until the gates are seen again."
    if look.view["drained"]:
        return "An operator has stopped new searches. They stand in line until the operator resumes."
    if look.gate == "A_busy" and look.view["active"] >= look.view["ceiling"]:
        return "Every place is taken and door A is busy; the first in line starts when a place is free."
    if look.gate == "A_busy":
        return "Door A lets in one search at a time; the next goes in as soon as this one is through."
    if look.gate == "B_full":
        return "Every place is taken; the first in line starts as soon as one is free."
    return "A search that comes now goes straight in."
