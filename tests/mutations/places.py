"""Where the rules stand, and the suites that hold them, the quickest first."""

from __future__ import annotations

GATES, CLUSTER, CORPUS = "submits/gates/", "submits/cluster/", "tests/gates/corpus/"
ADMISSION, HOLD, OBJECTS, COUNTING = (f"{GATES}{name}.py" for name in ("admission", "hold", "objects", "counting"))
ANNOUNCING, SETTLING, ATTEMPT = (f"{GATES}{name}.py" for name in ("announcing", "settling", "attempt"))
LINE, REPAIR, CENSUS, MARKERS = (f"{GATES}{name}.py" for name in ("line", "repair", "census", "markers"))
SERVERTIME = f"{GATES}servertime.py"
LEASH, LEASHED = "submits/leash.py", "submits/engine/leashed.py"

# Suites, the quickest first.
PURE_OBJECTS, PURE_COUNT, PURE_LINE, PURE_REPAIR, PURE_SHAPES = (
    f"tests/gates/test_{name}.py" for name in ("objects", "counting", "line", "repair", "bad_shapes")
)
PURE_SERVERTIME = "tests/gates/test_servertime.py"
ADMITTED, FAULTS, LEASES, REFUSALS = (
    f"tests/gates/test_{name}.py" for name in ("admission", "faults", "bad_leases", "refusals")
)
STUCK, TWO, CHILDREN, CLOCKS, PLACES = (
    f"{CORPUS}test_{name}.py" for name in ("stuck", "two_holders", "children", "clocks", "places")
)
LEASH_TESTS, LEASHED_TESTS, REPAIRED = (
    "tests/test_leash.py", "tests/engine/test_leashed.py", "tests/gates/test_repair_live.py",
)  # fmt: skip
