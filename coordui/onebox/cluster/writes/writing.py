"""How somebody wants to write: what a request's options say, or what the server's own parts are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ..access.rbac import User
from .managed import Author


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
    warnings: list[str] = field(default_factory=list)
    before_create: Callable[[], None] = _allowed  # asked when a replace or an apply turns out to create

    @property
    def author(self) -> Author:
        return Author(self.manager, self.operation, self.subresource)
