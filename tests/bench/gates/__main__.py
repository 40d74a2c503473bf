"""The gates' numbers, beside a v1 polling loop in the same process tree: `make bench-gates`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator

from tests.bench.gates import crowd, killed, product, slot
from tests.bench.measures import Measure, table


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.bench.gates", description=__doc__)
    parser.add_argument("--once-for-real", action="store_true", help="a holder's death by the protocol's own times too")
    real = parser.parse_known_args()[0].once_for_real
    parts: dict[str, Callable[[], Iterator[Measure]]] = {
        "slot": slot.measures,
        "killed": lambda: killed.measures(once_for_real=real),
        "crowd": crowd.measures,
        "product": product.measures,
    }
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help="which of them; all if none is named")
    found: list[Measure] = []
    for name in parser.parse_args().parts or list(parts):
        print(f"{name}: load before {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
        for measure in parts[name]():
            print("  ".join(measure.cells), flush=True)
            found.append(measure)
    print(f"\n{table(found)}\nload after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
