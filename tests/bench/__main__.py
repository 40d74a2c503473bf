"""How fast everything is on this machine: `make bench`. One table, with the limits that there are."""

from __future__ import annotations

import argparse
import os

from tests.bench import cluster, product, queries
from tests.bench.measures import Measure, table

PARTS = {"cluster": cluster.measures, "product": product.measures, "queries": queries.measures}


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="which of them; all if none is named")
    names = parser.parse_args().parts or list(PARTS)
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    found: list[Measure] = []
    for name in names:
        found += PARTS[name]()
    print(table(found))


if __name__ == "__main__":
    main()
