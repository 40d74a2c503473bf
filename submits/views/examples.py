"""The example search: a query that finds something in a database that is there."""

from __future__ import annotations

from dataclasses import dataclass

from submits import demo
from submits.models import Cluster, Database


@dataclass(frozen=True)
class Example:
    title: str
    database: str
    text: str


def first(scope: Cluster) -> Example | None:
    """The first quick demo search whose database is registered; None when there is none."""
    keys = set(Database.objects.filter(scope=scope, ready=True).values_list("key", flat=True))
    fitting = (search for search in demo.SEARCHES if search.database in keys and not search.slow)
    return next((Example(search.title, search.database, search.query()) for search in fitting), None)
