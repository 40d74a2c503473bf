"""The hooks of a kind, all empty: a plain kind needs none."""

from __future__ import annotations

from ..errors import Cause
from ..storage.objects import Obj


class Kind:
    label_name = False  # names are DNS labels, not subdomains
    path_name = False  # names are path segments: RBAC's may hold a colon

    def default(self, obj: Obj) -> None:
        """Fill in defaults, in place; runs on every write."""

    def created(self, obj: Obj) -> None:
        """Fill in what only a new object gets; it has its name and uid."""

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        """What is wrong with it; `old` is the object before an update."""
        return []

    def status_problems(self, obj: Obj, old: Obj) -> list[Cause]:
        """What is wrong with the status that a client writes."""
        return []
