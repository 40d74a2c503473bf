"""What is known of a database without opening it: the record that forms, plans and pages pass around."""

from __future__ import annotations

from dataclasses import dataclass

from submits.blast.molecule import Kind


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """`key` names it in forms and addresses, `path` is BLAST's name for it (no suffix), or
    its address in an object store, `formatted` an ISO time,
    `taxonomy` whether it knows the species of its sequences, None if nobody has looked."""

    key: str
    title: str
    path: str
    molecule: Kind
    sequences: int
    letters: int
    formatted: str
    taxonomy: bool | None = None


def is_stored(path: str) -> bool:
    """Whether a database, or a place of them, is in an object store: by its address."""
    return "://" in path


def argument(path: str) -> str:
    """A database's path as BLAST's -db takes it: without the quotes a space would make it two databases."""
    return f'"{path}"'
