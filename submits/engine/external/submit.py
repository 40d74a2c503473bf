"""The submit under the gate when `elastic-blast` is the engine: files in, one run of the program, markers looked at."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from submits.blast import table
from submits.blast.plan import Plan
from submits.engine.errors import EngineError, Exit, Interrupted
from submits.engine.external import ini, markers
from submits.engine.external.capabilities import JSON, KEY, Capabilities
from submits.engine.external.exits import meaning
from submits.engine.external.running import Ended, run
from submits.engine.external.settings import FILE, External, Form, Handed
from submits.engine.kept import INI
from submits.engine.prepare import batch_key
from submits.engine.settings import FILE as ENGINE_FILE
from submits.engine.settings import Settings
from submits.engine.submit import doubted, plan_to_submit, run_directory
from submits.engine.tries import create
from submits.gates.ports import Cluster, ClusterError, Unanswered
from submits.work import WorkError, WorkStore, run_key

QUERIES, CLOUD = "queries.fa", "kubeconfig-of-the-cloud"
KEEPING = 300.0  # seconds for which a work store that is away is asked again
SEEN = ("PATH", "LANG")  # of the environment, beside what the settings name


@dataclass(frozen=True)
class ExternalSubmit:
    """One try. `directory` is the submit's own fresh one, with the `kubeconfig` that pins the gates' cluster, namespace
    and credential; `attempt` is 8 characters, new for every try."""

    cluster: Cluster
    store: WorkStore
    settings: Settings
    external: External
    directory: Path
    attempt: str
    wait: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic

    def submit(self, run_id: str) -> None:
        """Raises EngineError with the status that the gates are to hear, and the words that the row shows.

        1. The plan must be there: nothing is started for a run that was not prepared, or that has its outcome. Nor by a
           program that would make no marker where nobody else does.
        2. The program's files: queries, configuration, a home. Results go to an address of this try alone, so that
           nothing an earlier one has left there is taken for this one's.
        3. What is handed over is kept beside the plan, for the Pod that follows.
        4. The Job that follows: where the program makes no marker this is the finalizer, and from here on every gate
           counts the run.
        5. The program, once. It sees no cluster but the one it is meant to write to: with markers of its own the
           gates', with ours none at all (it makes one, and its clean-up deletes whatever a context shows it).
        6. It ended otherwise than well, or was interrupted: where the Job of 4 is the finalizer it is deleted again by
           uid, and if a request had no answer the status says so. The program's own finalizer may be there already, so
           beside it the Job stays: no gate counts it, and it ends by itself when there is nothing to follow.
        7. It ended well: nothing is taken back any more, and no signal is heard. The Pod is told to read, the markers
           are looked up. Whatever is wrong then is said, and the status stays 0: the search may be running, so the
           gates keep its place and raise the alarm.
        """
        found = Capabilities(self.external.version, frozenset(self.external.flags.split()))
        if self.external.markers == "cli" and not found.keeps_id:
            raise EngineError(Exit.DEPENDENCY, f"{found}; COORDUI_ELASTIC_BLAST_MARKERS=ours makes one for it")
        plan = plan_to_submit(self.store, run_id)
        handed = self.handed(run_id, found)
        given = ini.read_given(Path(self.external.config)) if self.external.config else {}
        self.write_files(plan, handed, found, given)
        self.store.put(run_key(run_id, ENGINE_FILE), self.settings.to_json())
        self.store.put(run_key(run_id, FILE), handed.to_json())
        work = run_directory(self.store, run_id)
        body = markers.follower(run_id, handed, self.settings, work, plan.database, ini.longest(given))
        with doubted() as unanswered:
            made, ours = create(self.cluster, body, unanswered)
            try:
                ended = run(self.argv(run_id, found), self.environment(), self.directory)
                if ended.status:
                    meant = meaning(ended.status, ended.err)
                    raise EngineError(meant.exit, meant.words(ended.status, ended.err))
            except (EngineError, Interrupted):
                mine = ours and handed.markers == "ours"
                if mine and not self.take_back(made["metadata"]["name"], made["metadata"]["uid"]):
                    unanswered.append(made["metadata"]["name"])
                raise
        self.keep(run_id, replace(handed, submitted=True))
        self.look_at_markers(run_id, ended)

    def handed(self, run_id: str, found: Capabilities) -> Handed:
        form: Form = "table" if found.carries_quotes else "archive"
        key = f"{run_id}/{self.attempt}"
        results = f"{self.external.results.rstrip('/')}/{key}"
        return Handed(
            self.attempt, results, self.external.results_at, key, form, self.external.markers,
            self.external.version, self.external.cut_off,
        )  # fmt: skip

    def keep(self, run_id: str, handed: Handed) -> None:
        """Until the work store has it, or has not taken it for `KEEPING`: the Pod then goes by what is there."""
        end, pause = self.now() + KEEPING, 0.5
        while True:
            try:
                return self.store.put(run_key(run_id, FILE), handed.to_json())
            except (WorkError, OSError) as error:
                if self.now() + pause > end:
                    print(f"WARNING: it is submitted, which could not be kept: {error}", flush=True)
                    return None
            self.wait(pause)
            pause = min(5.0, pause * 2)

    def write_files(self, plan: Plan, handed: Handed, found: Capabilities, given: ini.Given) -> None:
        outfmt = {"table": table.OUTFMT, "archive": table.ARCHIVE}[handed.form]
        asked = ini.Asked(
            program=plan.program,
            database=self.external.database.replace("{key}", plan.database.key),
            queries=QUERIES,
            results=handed.results,
            options=(*plan.argv[1:], "-parse_deflines", "-outfmt", outfmt),
        )
        (self.directory / INI).touch(mode=0o600)
        (self.directory / INI).write_text(ini.build(given, asked, quotes=found.carries_quotes), encoding="utf-8")
        with (self.directory / QUERIES).open("wb") as file:
            for batch in range(1, plan.batches + 1):
                with self.store.open(batch_key(plan.run_id, batch)) as fasta:
                    shutil.copyfileobj(fasta, file)
        (self.directory / "home").mkdir(mode=0o700, exist_ok=True)

    def argv(self, run_id: str, found: Capabilities) -> list[str]:
        argv = [self.external.program, "submit", "--cfg", INI]
        argv += [KEY, run_id] if found.keeps_id else []
        return argv + ([JSON] if found.says_json else [])

    def environment(self) -> dict[str, str]:
        """Nothing of ours but where programs are, and what an administrator has named."""
        seen = {name: os.environ[name] for name in (*SEEN, *self.external.pass_on.split()) if name in os.environ}
        kubeconfig = "kubeconfig" if self.external.markers == "cli" else CLOUD
        return {
            **seen,
            "HOME": str(self.directory / "home"),
            "TMPDIR": str(self.directory),
            "KUBECONFIG": str(self.directory / kubeconfig),
        }

    def look_at_markers(self, run_id: str, ended: Ended) -> None:
        if self.external.markers == "ours":
            print(f"elastic-blast makes no marker; ours is in namespace {self.cluster.namespace}", flush=True)
            return
        try:
            trouble = markers.wrong(self.cluster, run_id, ended.out)
        except ClusterError as error:
            trouble = f"its markers could not be looked up: {error}"
        if self.context_has_changed():
            trouble += "\nIt has changed the kubeconfig that it was given, so its Jobs may be in another cluster."
        print(f"WARNING: {trouble.strip()}" if trouble else f"its finalizer carries the id {run_id}", flush=True)

    def context_has_changed(self) -> bool:
        """Whether its kubeconfig still has the one context that pins the gates' cluster and namespace."""
        try:
            found = json.loads((self.directory / "kubeconfig").read_text("utf-8"))
            (context,) = found["contexts"]
            return bool(
                found["current-context"] != context["name"]
                or context["context"]["namespace"] != self.cluster.namespace
                or len(found["clusters"]) != 1
            )
        except (OSError, ValueError, KeyError, TypeError):
            return True

    def take_back(self, name: str, uid: str) -> bool:
        """False when the request had no answer: the Job may still go, or stay."""
        try:
            self.cluster.delete("jobs", name, uid)
        except ClusterError as error:
            return not isinstance(error, Unanswered)
        return True
