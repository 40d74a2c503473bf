from __future__ import annotations

import re

from django.conf import settings

from coordui import env
from tests.world import REPOSITORY

VARIABLE = re.compile(r"^\| `([A-Z][A-Z0-9_]+)` \|(?: ([^|]+) \|)?", re.MULTILINE)
# Two names of ours for what Django calls otherwise, or computes.
NAMED_OTHERWISE = {"COORDUI_DEBUG": "DEBUG", "COORDUI_LOG_LEVEL": "LOG_LEVEL", "COORDUI_TIME_ZONE": "TIME_ZONE"}


def documented() -> dict[str, str]:
    return dict(VARIABLE.findall((REPOSITORY / "docs" / "configuration.md").read_text()))


def test_every_variable_is_documented_and_every_documented_one_is_read() -> None:
    assert set(documented()) == env.READ


def test_documented_defaults_are_those_in_force() -> None:
    for name, default in documented().items():
        if match := re.fullmatch(r"`([^`]+)`", default):
            value = getattr(settings, NAMED_OTHERWISE.get(name, name))
            if name not in ("COORDUI_STATE", "KUBECONFIG"):
                assert match[1].lower() == str(value).lower().removesuffix(".0") or match[1] == str(value), name


def test_the_commands_of_the_readme_exist() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))

    used = set(re.findall(r"\bmake ([a-z-]+)\b", "\n".join(re.findall(r"`[^`]+`|^    .+$", readme, re.MULTILINE))))

    assert used and used <= targets


def test_links_between_documents_lead_somewhere() -> None:
    for document in [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_what_may_not_be_in_the_repository_is_not_in_the_lock() -> None:
    for name in ("requirements.txt", "requirements-objects.txt", "requirements-dev.txt"):
        text = (REPOSITORY / name).read_text()
        assert "://" not in text and "--index-url" not in text and "--find-links" not in text
