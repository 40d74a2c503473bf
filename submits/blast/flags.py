"""One flag of a BLAST program and what it takes: the allow-list. What is not on it is refused with the reason."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from submits.blast import known

PERMITTED = frozenset(
    [
        "task",
        "evalue",
        "max_target_seqs",
        "query_loc",
        "strand",
        "word_size",
        "gapopen",
        "gapextend",
        "penalty",
        "reward",
        "soft_masking",
        "lcase_masking",
        "dust",
        "seg",
        "perc_identity",
        "qcov_hsp_perc",
        "max_hsps",
        "culling_limit",
        "best_hit_overhang",
        "best_hit_score_edge",
        "subject_besthit",
        "template_type",
        "template_length",
        "dbsize",
        "searchsp",
        "sum_stats",
        "xdrop_ungap",
        "xdrop_gap",
        "xdrop_gap_final",
        "no_greedy",
        "min_raw_gapped_score",
        "ungapped",
        "window_size",
        "off_diagonal_range",
        "matrix",
        "threshold",
        "comp_based_stats",
        "use_sw_tback",
        "query_gencode",
        "db_gencode",
        "max_intron_length",
        "taxids",
        "negative_taxids",
        "gap_trigger",
        "pseudocount",
        "inclusion_ethresh",
    ]
)
_REASONS = (
    ("h help version", "it prints words about BLAST and searches nothing"),
    ("db", "the database is chosen by its own field"),
    ("query", "the sequences are those in the box or the file"),
    ("subject subject_loc", "it searches a file in place of a database"),
    (
        "gilist seqidlist negative_gilist negative_seqidlist taxidlist negative_taxidlist ipglist negative_ipglist "
        "in_msa in_pssm msa_master_idx ignore_msa_master phi_pattern import_search_strategy filtering_db "
        "window_masker_db window_masker_taxid use_index index_name logfile",
        "it reads or writes a file where the search runs, and files cannot be sent along",
    ),
    (
        "out export_search_strategy out_pssm out_ascii_pssm save_pssm_after_last_round save_each_pssm",
        "it writes a file; results come to the page of the search",
    ),
    (
        "outfmt show_gis num_descriptions num_alignments line_length html sorthits sorthsps parse_deflines",
        "the format is chosen when the results are downloaded",
    ),
    ("remote entrez_query", "it searches at NCBI and not here"),
    ("num_threads mt_mode", "how a search is spread over the machines is decided where it runs"),
    ("db_soft_mask db_hard_mask", "which masks a database has is not known here"),
    ("num_iterations", "every query is searched once; the hits of later rounds could not be told from the first's"),
)
REFUSED = {name: why for names, why in _REASONS for name in names.split()}

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_REAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST = 40
_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), "true"),
    **dict.fromkeys(("false", "f", "no", "n", "0"), "false"),
}
_MOST = {"Integer": 2**31 - 1, "Int8": 2**63 - 1}
_NUMBER = r"[0-9]{1,3}"
_SPAN = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
# Values of a shape of their own: what they must look like, and how that is said.
_SHAPES = {
    "dust": (rf"yes|no|{_NUMBER} {_NUMBER} {_NUMBER}", 'yes, no, or three whole numbers in quotes such as "20 64 1"'),
    "seg": (
        rf"yes|no|{_NUMBER} {_NUMBER}(\.[0-9]{{1,3}})? {_NUMBER}(\.[0-9]{{1,3}})?",
        'yes, no, or three numbers in quotes such as "12 2.2 2.5"',
    ),
    "comp_based_stats": ("[0-3DdTtFf]", "one of 0, 1, 2, 3, D, T and F"),
    "taxids": ("[0-9]{1,9}(,[0-9]{1,9}){0,99}", "taxonomy ids with commas between them, such as 9606,10090"),
    "query_loc": (_SPAN.pattern, "a part of the query from 1 on, such as 10-250"),
}
_SHAPES["negative_taxids"] = _SHAPES["taxids"]
# Narrower than the help says, found by asking the programs: above or below these BLAST itself refuses.
_ABOVE_ZERO = ("evalue", "threshold", "xdrop_ungap", "xdrop_gap", "xdrop_gap_final", "dbsize", "gap_trigger")
# In the help, but refused, or the death of the program (a segmentation fault, or no end).
_CRASHES = ("best_hit_overhang", "best_hit_score_edge", "sum_stats", "use_sw_tback")
_WITHOUT = {
    ("tblastx", "max_intron_length"),
    *((program, name) for program in ("rpsblast", "rpstblastn") for name in _CRASHES),
}
_LONGEST_WORD = {"blastp": 7, "blastx": 7, "tblastn": 7, "psiblast": 5, "tblastx": 5}


@dataclass(frozen=True, slots=True)
class Flag:
    """`type` is BLAST's own word: Integer, Int8, Real, Boolean, String, or flag for one without a value.

    Bounds are None where there are none; `open` says of which of them the value itself is out.
    """

    name: str
    type: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    open: str = ""
    incompatible: frozenset[str] = frozenset()
    requires: frozenset[str] = frozenset()

    @property
    def valued(self) -> bool:
        return self.type != "flag"

    def read(self, text: str) -> str | None:
        """The value as it is handed to BLAST, None when it is not one."""
        if self.choices:
            return text if text in self.choices else None
        if self.name in _SHAPES:
            return self._shaped(text)
        readers: dict[str, Callable[[str], str | None]] = {
            "Boolean": lambda text: _TRUTH.get(text.lower()),
            "Real": self._real,
            "Integer": self._whole,
            "Int8": self._whole,
        }
        return readers[self.type](text)

    @property
    def wanted(self) -> str:
        """What it takes, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.name in _SHAPES:
            return _SHAPES[self.name][1]
        if self.type == "Boolean":
            return "true or false"
        kind = "a number" if self.type == "Real" else "a whole number"
        least = "" if self.least is None else f"{'above' if '<' in self.open else 'from'} {self.least:g}"
        most = (
            "" if self.most is None else f"{'below' if '>' in self.open else 'to' if least else 'up to'} {self.most:g}"
        )
        return " ".join(filter(None, (kind, least, most)))

    def _shaped(self, text: str) -> str | None:
        text = " ".join(text.split())
        if not re.fullmatch(_SHAPES[self.name][0], text):
            return None
        span = _SPAN.fullmatch(text) if self.name == "query_loc" else None
        return None if span and int(span[1]) >= int(span[2]) else text

    def _real(self, text: str) -> str | None:
        if len(text) > _LONGEST or not _REAL.fullmatch(text):
            return None
        number = float(text)
        return plain(number) if math.isfinite(number) and self._within(number) else None

    def _whole(self, text: str) -> str | None:
        if not _WHOLE.fullmatch(text):
            return None
        number = int(text)
        return str(number) if abs(number) <= _MOST[self.type] and self._within(number) else None

    def _within(self, number: float) -> bool:
        low = self.least is None or number > self.least or (number == self.least and "<" not in self.open)
        high = self.most is None or number < self.most or (number == self.most and ">" not in self.open)
        return low and high


def plain(number: float) -> str:
    """The shortest usual spelling that reads back as the same number."""
    short = format(number, "g")
    return short if float(short) == number else repr(number)


@cache
def permitted(program: str) -> dict[str, Flag]:
    """The flags of a program that may be set, by name, in the order of BLAST's help."""
    return {
        name: _flag(program, name, fact)
        for name, fact in known.flags(program).items()
        if name in PERMITTED and (program, name) not in _WITHOUT
    }


def _flag(program: str, name: str, fact: Any) -> Flag:
    least, most = fact.get(">=", fact.get(">")), fact.get("<=", fact.get("<"))
    open_ = ("<" if ">" in fact else "") + (">" if "<" in fact else "")
    if name in _ABOVE_ZERO:
        least, open_ = 0.0, "<"
    if name == "word_size":
        most = _LONGEST_WORD.get(program)
    choices = tuple(fact.get("choices", ()))
    excluded, required = (frozenset(fact.get(key, ())) & PERMITTED for key in ("incompatible", "requires"))
    return Flag(name, fact["type"], choices, least, most, open_, excluded, required)
