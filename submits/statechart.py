"""The states of a submission as a document, from the tables: `python -m submits.statechart > docs/states.md`."""

from __future__ import annotations

from submits.states import ENDED, PHASES, REASONS, REASONS_OF, TRANSITIONS, Kind, Phase, Reason, Status

MEANING = {
    Status.QUEUED: "received; nothing has been done yet",
    Status.PREPARING: "a worker checks, splits and stores it",
    Status.WAITING: "its ticket stands in line",
    Status.SUBMITTING: "one admission is under way",
    Status.RUNNING: "its finalizer is in the cluster",
    Status.CANCELLING: "somebody wants it gone; the cluster is asked whether it is",
    Status.COMPLETED: "its results can be read",
    Status.FAILED: "it ended, and says why",
    Status.CANCELLED: "the cluster has shown that nothing of it is left",
}
KINDS = {
    Kind.WAIT: "Waits: calm, its turn comes",
    Kind.RETRY: "Tried again by itself",
    Kind.FINAL: "Ends",
}
INTRODUCTION = """# States of a search

Made from `submits/states.py` by `python -m submits.statechart`; a test compares the two.

A status says where a search stands, a phase what happens there, a reason why it stands still or ended. A step that is
not drawn here is refused. Waiting is not running, and not an error: a wait is never shown in red."""


def diagram() -> str:
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> queued"]
    for status in Status:
        lines += [f"    {status} --> {following}" for following in Status if following in TRANSITIONS[status]]
    lines += [f"    {status} --> [*]" for status in Status if status in ENDED]
    return "\n".join([*lines, "```"])


def statuses() -> str:
    lines = ["| status | what it means | phases | reasons |", "|---|---|---|---|"]
    for status in Status:
        phases = ", ".join(f"`{phase}`" for phase in Phase if phase in PHASES[status])
        reasons = ", ".join(f"`{reason}`" for reason in Reason if reason and reason in REASONS_OF[status]) or "none"
        lines.append(f"| `{status}` | {MEANING[status]} | {phases} | {reasons} |")
    return "\n".join(lines)


def reasons(kind: Kind) -> str:
    lines = [f"## {KINDS[kind]}", "", "| reason | what people read | what comes next |", "|---|---|---|"]
    told = [(reason, told) for reason, told in REASONS.items() if told.kind is kind]
    return "\n".join(lines + [f"| `{reason}` | {told.sentence} | {told.next_step} |" for reason, told in told])


def document() -> str:
    return "\n\n".join([INTRODUCTION, diagram(), statuses(), *map(reasons, Kind)]) + "\n"


if __name__ == "__main__":
    print(document(), end="")
