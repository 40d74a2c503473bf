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


TALKER = """
apiVersion: batch/v1
kind: Job
metadata: {name: talker}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      initContainers: [{name: i, image: local, command: [echo, first]}]
      containers: [{name: c, image: local, command: [sh, -c, "echo one; sleep 0.3; echo two; exit 3"]}]
"""


def test_looking_at_a_job_that_fails(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=TALKER)
    kubectl("wait", "--for=condition=Ready", "pod", "-l", "job-name=talker", "--timeout=12s")
    assert kubectl("logs", "-f", "job/talker", "-c", "c") == "one\ntwo\n"
    assert kubectl("logs", "job/talker", "-c", "i") == "first\n"
    assert kubectl("logs", "job/talker", "-c", "c", "--timestamps", "--tail=1").endswith("Z two\n")
    kubectl("wait", "--for=condition=failed", "job/talker", "--timeout=12s")
    shown = kubectl("get", "pods,jobs")
    assert " 0/1     Error " in shown and " Failed   0/1 " in shown
    described = kubectl("describe", "job", "talker")
    assert "BackoffLimitExceeded" in described and "1 Failed" in described
    described = kubectl("describe", "pod", "-l", "job-name=talker")
    for words in ("Exit Code:    3", "Successfully assigned default/talker-", "Started container c"):
        assert words in described
    kubectl("delete", "job", "talker")
    assert "No resources found" in kubectl("get", "pods,jobs")


def test_looking_at_the_node(kubectl: Kubectl) -> None:
    assert " Ready " in kubectl("get", "nodes")
    described = kubectl("describe", "node", "onebox")
    assert "KubeletReady" in described and "Non-terminated Pods" in described
    kubectl("cordon", "onebox")
    assert "SchedulingDisabled" in kubectl("get", "nodes")
    kubectl("uncordon", "onebox")


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


def test_explain_and_apply_ask_for_different_documents(kubectl: Kubectl, cluster: RunningCluster) -> None:
    told = kubectl("explain", "job.spec.template.spec.containers.env")
    assert "GROUP:      batch\nKIND:       Job\nVERSION:    v1\n\nFIELD: env <[]EnvVar>" in told
    assert "value\t<string>" in told and "name\t<string> -required-" in told
    assert "backoffLimit <integer>" in kubectl("explain", "job.spec.backoffLimit")
    for kind in ("lease", "configmap", "pod", "role", "resourcequota"):
        assert "FIELDS:" in kubectl("explain", kind)
    path = "/openapi/v3/apis/batch/v1"
    small = cluster.call("GET", path, **{"Kubectl-Command": "kubectl apply"}).ok()  # type: ignore[arg-type]
    full = cluster.call("GET", path).ok()
    assert small["paths"] == full["paths"] and "components" not in small
    env = full["components"]["schemas"]["io.k8s.api.v1.Container"]["properties"]["env"]
    assert (env["x-kubernetes-patch-merge-key"], env["x-kubernetes-patch-strategy"]) == ("name", "merge")


def test_typed_commands_for_power(kubectl: Kubectl, cluster: RunningCluster) -> None:
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods,jobs.batch", "--resource-name=this")
    kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:robot")
    robot = "--as=system:serviceaccount:default:robot"
    assert kubectl("auth", "can-i", "get", "jobs/this", robot) == "yes\n"
    assert kubectl("auth", "can-i", "get", "jobs", robot, code=1) == "no\n"
    listed = kubectl("auth", "can-i", "--list", robot)
    assert "jobs.batch" in listed and "[this]" in listed and "[/api/*]" in listed
    kubectl("create", "clusterrole", "paths", "--verb=get", "--non-resource-url=/special")
    kubectl("create", "clusterrolebinding", "paths", "--clusterrole=paths", "--serviceaccount=default:robot")
    assert kubectl("auth", "can-i", "get", "/special", robot) == "yes\n"
    token = kubectl("create", "token", "robot", "--duration=20m").strip()
    rest = ("--kubeconfig=/dev/null", f"--server={cluster.url}", f"--certificate-authority={cluster.ca}")
    assert 'User "system:serviceaccount:default:robot" cannot list' in kubectl(
        "get", "leases", f"--token={token}", *rest, code=1
    )
    assert "system:serviceaccount:default:robot" in kubectl("auth", "whoami", robot)
    kubectl("create", "quota", "few", "--hard=count/resourcequotas=1,persistentvolumeclaims=7")
    assert "count/resourcequotas: 1/1, persistentvolumeclaims: 0/7" in kubectl("get", "quota", "few")
    kubectl("delete", "quota", "few")
    assert "Role/reader" in kubectl("get", "role,rolebinding,sa,clusterrole,svc")
