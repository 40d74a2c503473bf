"""An older door's try: take the gate, count, submit, release. It announces, renews and looks up nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tests.gates.model.party import At, Faults, Party
from tests.gates.model.v2 import Around, Move, write


def older_try(p: Party, around: Around, faults: Faults) -> Iterator[Move]:
    """`around.places` is what v1 counts."""
    match p.at:
        case "S1":
            if around.open:
                yield Move("takes the gate", p._replace(at="S6 count", holds=1), True)
        case "S6 count":
            if around.places >= around.ceiling:
                yield Move(f"counts {around.places}: full", p._replace(at="S11", road="shut"))
            else:
                words = f"counts {around.places} and starts its submit"
                yield Move(words, p._replace(at="S8", road="submitted", child="runs blast"))
        case "S8":
            written, then, broken = write(p, p.child)
            at: At = "S8" if then else "S11"
            words = f"'s submit writes its {p.child.split()[1]}"
            yield Move(words, written._replace(child=then, at=at), broken=broken)
        case "S11":
            after = p._replace(at="S1" if p.road == "shut" else "end", road="")
            yield Move("releases the gate", after._replace(holds=0))
