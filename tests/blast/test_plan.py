from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from submits.blast import plan as planning
from submits.blast.facts import DatabaseFacts
from submits.blast.fasta import Query, Records, read
from submits.blast.intake import PlannedQuery, Search
from submits.blast.options import Options
from submits.blast.plan import Plan
from submits.blast.split import Rule
from submits.blast.table import query_id

RUN = "job-" + "0" * 32
DB = DatabaseFacts("k", "Title; rm -rf /", "/db/k", "nucl", 1, 10, "2026-01-01T00:00")
EVIL = "$(id) `id` '; id; ' \"\n".strip()


def search(*queries: Query) -> Search:
    text = "".join(f">\n{query.sequence}\n" for query in queries)
    planned = tuple(
        PlannedQuery(query_id(number), query.name, query.title, len(query.sequence))
        for number, query in enumerate(queries, 1)
    )
    letters = sum(query.length for query in planned)
    return Search("blastn", "megablast", Options("megablast"), planned, "nucl", letters, text=text)


def test_inner_names_replace_the_authors_own() -> None:
    made = search(Query("x;id", EVIL, "ACGT" * 30), Query("x;id", "", "GGGG"))
    (fasta,) = map(b"".join, planning.batches(made))
    assert fasta.decode() == f">q000001\n{'ACGT' * 17}AC\n{'GT' + 'ACGT' * 12}\n>q000002\nGGGG\n"
    plan = planning.make(made, DB, RUN)
    assert [(query.id, query.name, query.length) for query in plan.queries] == [
        ("q000001", "x;id", 120),
        ("q000002", "x;id", 4),
    ]


def test_a_command_is_a_list_without_anything_of_the_authors() -> None:
    plan = planning.make(search(Query("evil", EVIL, "ACGT")), DB, RUN, threads=2)
    command = planning.command(plan, query="/w/1.fa", database=DB.path, out="/w/1.asn")
    assert command == [
        "blastn", "-task", "megablast", "-evalue", "0.05", "-max_target_seqs", "100", "-dust", "no",
        "-query", "/w/1.fa", "-parse_deflines", "-db", '"/db/k"', "-num_threads", "2",
        "-outfmt", "11", "-out", "/w/1.asn",
    ]  # fmt: skip
    assert not any(part in word for word in command for part in ("evil", "$(", "rm "))


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.text(max_size=10), st.text("ACGTN", min_size=1, max_size=150)), min_size=1, max_size=30),
    st.integers(1, 400),
)
def test_plan_and_batches_agree_and_survive_json(pairs: list[tuple[str, str]], letters: int) -> None:
    made = search(*(Query(name, name, sequence) for name, sequence in pairs))
    rule = Rule(letters)
    plan = planning.make(made, DB, RUN, rule=rule)
    batches = list(map(b"".join, planning.batches(made, rule=rule)))
    assert plan.batches == len(batches)
    back = read(b"".join(batches))
    assert isinstance(back, Records)
    assert [(q.name, q.sequence) for q in back.queries] == [
        (p.id, sequence) for p, (_, sequence) in zip(plan.queries, pairs, strict=True)
    ]
    again = Plan.from_json(b"".join(plan.pieces()))
    assert again == plan and plan == again
