"""Where the gates are: one of three, chosen once at the start of a process. Pure. (PROTOCOL, 7: precedence.)

k8s           a Lease and the Jobs themselves; whatever else is set, the key-value store is never asked
redis slots   so many submits at once on a cluster, counted in a hash of the key-value store
redis lock    one submit at a time in a namespace, by a key of the store
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from submits.states import SubmitsError


class UnknownBackend(SubmitsError):
    """The name is none of ours: a process that guessed would coordinate with nobody."""


class Backend(StrEnum):
    K8S = "k8s"
    SLOTS = "redis slots"
    LOCK = "redis lock"


@dataclass(frozen=True)
class Choice:
    backend: Backend
    why: str

    @property
    def in_store(self) -> bool:
        return self.backend is not Backend.K8S

    def __str__(self) -> str:
        return f"{self.backend} ({self.why})"


def choose(name: str, slots: bool) -> Choice:
    """`name` is BLAST_COORD_BACKEND, `slots` BLAST_GATE_ENABLED. Raises UnknownBackend."""
    if name == "k8s":
        unused = ", whatever BLAST_GATE_ENABLED says" if slots else ""
        return Choice(Backend.K8S, f"BLAST_COORD_BACKEND=k8s{unused}")
    if name != "redis":
        raise UnknownBackend(f"BLAST_COORD_BACKEND={name!r} is neither k8s nor redis")
    if slots:
        return Choice(Backend.SLOTS, "BLAST_COORD_BACKEND=redis and BLAST_GATE_ENABLED=true")
    return Choice(Backend.LOCK, "BLAST_COORD_BACKEND=redis and BLAST_GATE_ENABLED=false")


WORDS = {
    Backend.K8S: "",
    Backend.SLOTS: (
        "The gate is in the key-value store: so many submits at once on this cluster, all namespaces together. "
        "There is no line between doors, and searches that run are not counted."
    ),
    Backend.LOCK: (
        "The gate is a lock in the key-value store: one submit at a time. "
        "There is no line between doors, and searches that run are not counted."
    ),
}
