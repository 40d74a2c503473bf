"""The rules, taken away one at a time."""

from __future__ import annotations

from tests.mutations import databases, decisions, external, steps

MUTATIONS = [*steps.MUTATIONS, *decisions.MUTATIONS, *external.MUTATIONS, *databases.MUTATIONS]
