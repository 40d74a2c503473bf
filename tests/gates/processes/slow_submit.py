"""A submit that takes its time and has a family, one of whom runs away. A program, run below a leash; plain Python.

    python -I -S slow_submit.py JOURNAL SECONDS submit --cfg FILE --idempotency-key RUN

1. It signs in: `start RUN PID BORN` in the journal; and for each process that signed in for another run and still
   lives, `beside RUN OTHER PID`. Of two that run at once the later one finds the other.
2. It makes a submit Job. A child makes batches, slowly; a grandchild in a session of its own, whose parent has ended,
   makes more of them, for ever. Each of them signs in: `child RUN PID BORN`.
3. When the child has ended and SECONDS have passed, but not while the file JOURNAL.hold-RUN exists, it makes the
   finalizer, signs out (`end RUN PID BORN`) and ends. The grandchild goes on: only the leash ends it.

BORN is the process's start in the kernel's clock, so that a number given out anew is not taken for its predecessor.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import sys
import time

BATCHES, PAUSE = 3, 0.05


def born(pid: int) -> str:
    """ "" when it is dead; one that is stopped lives."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


class Journal:
    def __init__(self, path: str, run: str) -> None:
        self.path, self.run = path, run

    def say(self, word: str, *facts: object) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, (" ".join([word, self.run, *map(str, facts)]) + "\n").encode())
        os.close(file)

    def sign(self, word: str) -> None:
        self.say(word, os.getpid(), born(os.getpid()))

    def look_round(self) -> None:
        with open(self.path, encoding="ascii") as journal:
            lines = [line.split() for line in journal]
        for word, run, pid, *rest in lines:
            if word in ("start", "child") and run != self.run and born(int(pid)) == rest[0]:
                self.say("beside", run, pid)


class Api:
    """POSTs Jobs, each until its answer is definite, to where its kubeconfig points."""

    def __init__(self, kubeconfig: str) -> None:
        with open(kubeconfig, encoding="utf-8") as file:
            found = json.load(file)
        cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
        self.namespace = found["contexts"][0]["context"]["namespace"]
        self.host, _, port = cluster["server"].removeprefix("https://").partition(":")
        self.port = int(port or 443)
        self.tls = ssl.create_default_context(
            cafile=cluster.get("certificate-authority"),
            cadata=base64.b64decode(cluster.get("certificate-authority-data", "")).decode() or None,
        )
        if user.get("client-certificate"):
            self.tls.load_cert_chain(user["client-certificate"], user["client-key"])
        self.headers = {"Content-Type": "application/json"}
        if user.get("token"):
            self.headers["Authorization"] = f"Bearer {user['token']}"

    def make(self, app: str, run: str, name: str) -> None:
        labels = {"app": app, "elb-job-id": run}
        containers = [{"name": "c", "image": "none", "command": ["sleep", "300"]}]
        pod = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": containers}}
        body = json.dumps({"metadata": {"name": name, "labels": labels}, "spec": {"parallelism": 0, "template": pod}})
        while self.post(body) not in (201, 409):
            time.sleep(0.1)

    def post(self, body: str) -> int:
        """The status; 0 when there was no answer."""
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=5, context=self.tls)
        try:
            connection.request("POST", f"/apis/batch/v1/namespaces/{self.namespace}/jobs", body, self.headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()


def batches(journal: Journal, api: Api, first: int, count: int) -> None:
    journal.sign("child")
    for number in range(first, first + count):
        time.sleep(PAUSE)
        api.make("blast", journal.run, f"blast-{journal.run[-8:]}-{number}")


def run_away(journal: Journal, api: Api) -> None:
    if os.fork():
        os._exit(0)
    os.setsid()
    batches(journal, api, BATCHES, BATCHES)
    time.sleep(300)


def in_child(journal: Journal, api: Api, away: bool) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        if away:
            run_away(journal, api)
        else:
            batches(journal, api, 0, BATCHES)
    finally:
        os._exit(0)


def main(path: str, seconds: str, run: str) -> None:
    journal = Journal(path, run)
    journal.sign("start")
    journal.look_round()
    end = time.monotonic() + float(seconds)
    api = Api(os.environ["KUBECONFIG"])
    api.make("submit", run, f"submit-{run[-8:]}")
    children = [in_child(journal, api, away) for away in (True, False)]
    for pid in children:
        os.waitpid(pid, 0)
    while time.monotonic() < end or os.path.exists(f"{path}.hold-{run}"):
        time.sleep(0.02)
    api.make("finalizer", run, f"elb-finalizer-{run[-8:]}")
    journal.sign("end")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[-1])
