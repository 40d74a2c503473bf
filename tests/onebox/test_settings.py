from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coordui.brokers import celery_url
from tests.world import REPOSITORY


def settings_with(state: Path, *names: str, **environment: str) -> dict[str, Any]:
    """The settings of a fresh process with this environment."""
    code = f"import json; from coordui import settings; print(json.dumps({{n: getattr(settings, n) for n in {names}}}))"
    env = {"COORDUI_STATE": str(state), "PATH": os.environ["PATH"], "HOME": "/home/me", **environment}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, env=env, capture_output=True, text=True, timeout=60, check=True
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize(
    ("url", "celery"),
    [
        ("unix:///run/v.sock", "redis+socket:///run/v.sock?virtual_host=0"),
        ("unix:///run/v.sock?db=2", "redis+socket:///run/v.sock?virtual_host=2"),
        ("redis://store:6379/1", "redis://store:6379/1"),
        ("rediss://store/0", "rediss://store/0?ssl_cert_reqs=required"),
    ],
)
def test_celery_has_the_same_store_as_the_rest(url: str, celery: str) -> None:
    assert celery_url(url) == celery


def test_with_the_embedded_cluster_a_kubeconfig_of_the_shell_is_not_used(tmp_path: Path) -> None:
    found = settings_with(tmp_path, "KUBECONFIG", KUBECONFIG="/home/me/production")
    assert found["KUBECONFIG"] == str(tmp_path / "kubeconfig")


def test_a_kubeconfig_is_used_when_it_is_asked_for(tmp_path: Path) -> None:
    found = settings_with(tmp_path, "KUBECONFIG", KUBECONFIG="/home/me/production", COORDUI_CLUSTER="kubeconfig")
    assert found["KUBECONFIG"] == "/home/me/production"


def test_without_one_it_is_the_usual_one(tmp_path: Path) -> None:
    assert settings_with(tmp_path, "KUBECONFIG", COORDUI_CLUSTER="kubeconfig")["KUBECONFIG"] == "/home/me/.kube/config"


def test_the_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    first, second = (settings_with(tmp_path, "SECRET_KEY")["SECRET_KEY"] for _ in range(2))
    assert first == second and len(first) >= 32
    assert settings_with(tmp_path, "SECRET_KEY", SECRET_KEY="given")["SECRET_KEY"] == "given"


def test_behind_tls_cookies_are_secure_and_its_names_are_trusted(tmp_path: Path) -> None:
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "CSRF_TRUSTED_ORIGINS", "ALLOWED_HOSTS")
    plain = settings_with(tmp_path, *names)
    behind = settings_with(tmp_path, *names, COORDUI_HTTPS="true", COORDUI_HOSTS="blast.example.org")

    assert plain["SESSION_COOKIE_SECURE"] is plain["CSRF_COOKIE_SECURE"] is False
    assert behind["SESSION_COOKIE_SECURE"] is behind["CSRF_COOKIE_SECURE"] is True
    assert behind["CSRF_TRUSTED_ORIGINS"] == ["https://blast.example.org"]
    assert "blast.example.org" in behind["ALLOWED_HOSTS"]
    assert "*" not in plain["ALLOWED_HOSTS"]


def test_messages_outlast_every_task(tmp_path: Path) -> None:
    found = settings_with(tmp_path, "CELERY_BROKER_TRANSPORT_OPTIONS", CELERY_TASK_TIME_LIMIT="7200")
    assert found["CELERY_BROKER_TRANSPORT_OPTIONS"]["visibility_timeout"] > 7200
