"""The real kubectl and the official client against it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.onebox.cluster.fixtures import RunningCluster

MANIFEST = """
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: kl, labels: {probe: k}}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
---
apiVersion: batch/v1
kind: Job
metadata: {name: kj, labels: {probe: k}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: local, command: [sh, -c, "echo hello-from-job"]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kc, labels: {probe: k}}
data: {a: "1"}
"""

Kubectl = Callable[..., str]


@pytest.fixture(scope="module")
def kubectl(cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    home: Path = tmp_path_factory.mktemp("home")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(cluster.kubeconfig)}

    def run(*words: str, given: str | None = None, code: int = 0) -> str:
        done = subprocess.run(
            ["kubectl", *words], input=given, env=environment, capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    return run


def test_a_jobs_life(kubectl: Kubectl) -> None:
    assert "job.batch/kj created" in kubectl("apply", "-f", "-", given=MANIFEST)
    again = kubectl("apply", "-f", "-", given=MANIFEST.replace("holderIdentity: me", "holderIdentity: you"))
    assert "lease.coordination.k8s.io/kl configured" in again
    assert "job.batch/kj unchanged" in again and "configmap/kc unchanged" in again
    kubectl("wait", "--for=condition=complete", "job/kj", "--timeout=12s")
    assert kubectl("logs", "job/kj") == "hello-from-job\n"
    shown = kubectl("get", "leases,jobs")
    assert "Complete   1/1" in shown and "you" in shown
    described = kubectl("describe", "job", "kj")
    assert "1 Succeeded" in described and "SuccessfulCreate" in described
    kubectl("delete", "lease,job,cm", "-l", "probe=k")
    assert "No resources found" in kubectl("get", "jobs")


def test_apply_on_the_server_and_patches(kubectl: Kubectl) -> None:
    lease = MANIFEST.split("---", maxsplit=1)[0].replace("kl", "ks")
    assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", given=lease)
    kubectl("patch", "lease", "ks", "--type", "merge", "-p", '{"spec":{"holderIdentity":"z"}}')
    assert kubectl("get", "lease", "ks", "-o", "jsonpath={.spec.holderIdentity}") == "z"
    replaced = json.loads(kubectl("get", "lease", "ks", "-o", "json"))
    replaced["spec"]["holderIdentity"] = "replaced"
    kubectl("replace", "-f", "-", given=json.dumps(replaced))
    assert "holderIdentity: replaced" in kubectl("get", "lease", "ks", "-o", "yaml")
    assert "NotFound" in kubectl("get", "lease", "none", code=1)


def test_mistakes_are_told(kubectl: Kubectl) -> None:
    wrong = MANIFEST.split("---")[1].replace("backoffLimit", "backofLimit").replace("kj", "kw")
    assert 'unknown field "spec.backofLimit"' in kubectl("create", "-f", "-", given=wrong, code=1)


def test_typed_commands(kubectl: Kubectl) -> None:
    """kubectl sends these as protobuf."""
    kubectl("create", "configmap", "typed", "--from-literal=x=y")
    assert kubectl("get", "cm", "typed", "-o", "jsonpath={.data.x}") == "y"
    kubectl("create", "namespace", "typed")
    kubectl("create", "secret", "generic", "typed", "--from-literal=p=q")
    assert kubectl("get", "secret", "typed", "-o", "jsonpath={.data.p}") == "cQ=="
    kubectl("create", "job", "typed", "--image=local", "--", "sh", "-c", "echo hi-from-kubectl")
    kubectl("wait", "--for=condition=complete", "job/typed", "--timeout=12s")
    assert kubectl("logs", "job/typed") == "hi-from-kubectl\n"
    assert kubectl("auth", "can-i", "create", "jobs") == "yes\n"
