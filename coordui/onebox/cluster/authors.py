"""Who writes, and how: what a request says of it, or what the server's own parts are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from .storage.objects import Obj

MASTERS = "system:masters"  # may do everything, whatever the roles say


@dataclass(frozen=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    @property
    def is_master(self) -> bool:
        return MASTERS in self.groups


@dataclass(frozen=True)
class Author:
    """Who writes: an entry of managedFields belongs to exactly one of these."""

    manager: str
    operation: Literal["Update", "Apply"] = "Update"
    subresource: str = ""

    def owns(self, entry: Obj) -> bool:
        return (entry.get("manager"), entry.get("operation"), entry.get("subresource", "")) == (
            self.manager,
            self.operation,
            self.subresource,
        )


def _allowed() -> None:
    """The server's own writes ask nobody."""


@dataclass
class Write:
    """`warnings` collects what the answer's headers will say."""

    manager: str
    dry_run: bool = False
    validation: str = ""  # a client's fieldValidation: Ignore, Warn or Strict; empty: the server's own write
    subresource: str = ""
    operation: Literal["Update", "Apply"] = "Update"
    force: bool = False  # an apply that takes fields over from others
    user: User | None = None  # the client; None: the server's own write
    repeated: tuple[str, ...] = ()  # what the body says twice, until it is decoded
    warnings: list[str] = field(default_factory=list)
    before_create: Callable[[], None] = _allowed  # asked when a replace or an apply turns out to create

    @property
    def author(self) -> Author:
        return Author(self.manager, self.operation, self.subresource)
