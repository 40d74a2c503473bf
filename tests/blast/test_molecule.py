from __future__ import annotations

import pytest

from submits.blast.molecule import detect, stray


@pytest.mark.parametrize(
    ("sequence", "molecule"),
    [
        ("ACGTACGTACGT", "nucl"),
        ("acgtacgtacgt", "nucl"),
        ("AUGGCUACGUUAGCUAUGGCUAA", "nucl"),
        ("ACGTNNNNNNNNNNACGTACGTA", "nucl"),
        ("AGAGTTTTTCGAACTCGTGTTGTCGAGCGACGGAATTAGATCAGTTAAATRYSWGG", "nucl"),
        ("ACGTACGTACGTACGTACGTACGTACGTACGTACGE", "nucl"),  # a slip, to be reported as one
        ("MKIPNIGNVMNKFEILGVVGEGAYGV", "prot"),
        ("MKTBJOUZX*MKTAYIAKQR", "prot"),
        ("GAGAGSGAGAGYGAGAGS*", "prot"),
        ("ACGTACG", None),
        ("NNNNNNNNNNNNNNNN", None),
        ("ARNDCGKMSTVYWARNDCG", None),  # a protein made of letters that also stand for bases
        ("MKLVE", None),
    ],
)
def test_letters_tell_the_molecule_or_leave_it_open(sequence: str, molecule: str | None) -> None:
    assert detect(sequence) == molecule


def test_a_stray_letter_is_found_where_it_is() -> None:
    assert stray("ACGTRYN", "nucl") is None
    assert stray("ACGEACGT*", "nucl") == (4, "E")
    assert stray("MKTBJOUZX*", "prot") is None
