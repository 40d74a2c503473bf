"""Formats that are not FASTA, recognised by how they begin, each with what to do about it."""

from __future__ import annotations

import re

from submits.blast.findings import Finding, excerpt

_ACCESSION = re.compile(
    r"(?:[A-Z]{1,2}_?\d{5,9}|[A-Z]{2}_\d{6,9}|[OPQ]\d[A-Z0-9]{3}\d|[A-Z]\d[A-Z][A-Z0-9]{2}\d)(?:\.\d+)?"
)
_BEGINNINGS = (
    (re.compile(r"LOCUS\s"), "a GenBank record", "Save it as FASTA, or paste only the lines below ORIGIN."),
    (re.compile(r"ID   \S"), "an EMBL or UniProt record", "Save it as FASTA, or paste only the sequence lines."),
    (re.compile(r"##gff|##sequence-region"), "a GFF annotation", "Paste the sequences it belongs to, as FASTA."),
    (re.compile(r"#NEXUS", re.I), "a NEXUS file", "Save it as FASTA."),
    (re.compile(r"CLUSTAL|MUSCLE \("), "a Clustal alignment", "Save it as FASTA."),
    (re.compile(r"# STOCKHOLM"), "a Stockholm alignment", "Save it as FASTA."),
    (re.compile(r"@(?:HD|SQ|RG|PG)\t"), "a SAM file", "Convert it to FASTA (samtools fasta)."),
    (re.compile(r"##fileformat=VCF"), "a VCF file", "Paste the sequences it belongs to, as FASTA."),
    (re.compile(r"<\?xml|<!DOCTYPE|<html", re.I), "a web page or XML", "Copy the sequences out of it as text."),
    (re.compile(r"[{\[]\s*(?:\"|$)"), "JSON", "Copy the sequences out of it as FASTA."),
)


def recognise(line: str, number: int, after: list[str]) -> Finding | None:
    """What the first line with anything on it gives away, if it is not FASTA; `after` are the next few lines."""
    if line.startswith("@") and any(later.startswith("+") for later in after):
        return Finding(
            "query",
            "This is FASTQ, which begins with “@”: BLAST would take its quality letters for sequence. "
            "Convert it to FASTA first, for example with: seqtk seq -a reads.fq",
            number,
        )
    for pattern, what, advice in _BEGINNINGS:
        if pattern.match(line):
            return Finding("query", f"This is {what}, not FASTA. {advice}", number)
    words = line.replace(",", " ").split()
    if words and all(_ACCESSION.fullmatch(word) for word in words):
        return Finding(
            "query",
            f"“{excerpt(line)}” looks like an accession number. Sequences are not fetched by number here: "
            "paste the sequence itself.",
            number,
        )
    return None
