"""The image's recipe, as far as it can be told without a container engine: it takes the steps that `make setup` takes,
and what it copies is enough to start."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.engine.test_jobs import BODIES
from tests.test_manifests import deployments
from tests.world import REPOSITORY

BIN = Path(sys.executable).parent
# Where the product comes from, a page, a static file, and what the embedded cluster applies.
LOOK = """
import django, submits
from pathlib import Path
django.setup()
from django.test import Client
from coordui.onebox.supervisor import specs
client, argv = Client(SERVER_NAME="localhost"), specs.cluster().argv
answers = [client.get(path).status_code for path in ("/signin/", "/static/coordui.css")]
print(Path(submits.__file__).parent, *answers, Path(argv[argv.index("--apply") + 1]).exists())
"""
COMMENT, CONTINUED = re.compile(r"^\s*#.*\n?", re.MULTILINE), re.compile(r"\\\n")


def instructions() -> list[tuple[str, str]]:
    """As (word, rest), lines joined, comments left out."""
    text = CONTINUED.sub(" ", COMMENT.sub("", (REPOSITORY / "Dockerfile").read_text()))
    return [(line.split()[0], " ".join(line.split()[1:])) for line in text.splitlines() if line.strip()]


def rest(word: str) -> list[str]:
    return [said for name, said in instructions() if name == word]


def copied() -> dict[str, str]:
    """What is copied, by source."""
    found = {}
    for line in rest("COPY"):
        *sources, target = line.split()
        for source in sources:
            named = target if not target.endswith("/") or (REPOSITORY / source).is_dir() else f"{target}{source}"
            found[source] = f"{target}{Path(source).name}" if (REPOSITORY / source).is_file() else named
    return found


def ignored(path: str) -> bool:
    """By .dockerignore, whose last line that fits decides."""
    answer = False
    for line in (REPOSITORY / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#") and fits(path, line.removeprefix("!")):
            answer = not line.startswith("!")
    return answer


def fits(path: str, pattern: str) -> bool:
    """The three kinds of line that there are: everything, a name at any depth, and a path with all below it."""
    if pattern.startswith("**/"):
        return pattern[3:] in Path(path).parts
    return pattern == "*" or Path(path).is_relative_to(pattern)


def test_it_takes_the_steps_of_make_setup() -> None:
    """Which is how every command of the Makefile begins."""
    make = ["make", "--no-print-directory", "--dry-run", "--always-make", "setup"]
    said = subprocess.run(make, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=20).stdout
    steps = [line.strip() for line in said.splitlines() if not line.startswith("touch ")]
    ran = [re.sub(r"^(--mount=\S+ )*", "", line) for line in rest("RUN")]
    assert sorted(ran) == sorted(steps) and len(ran) == 2


def test_what_it_copies_is_there_and_not_ignored() -> None:
    for source in copied():
        assert (REPOSITORY / source).exists() and not ignored(source), source
    for source in ("coordui/settings.py", "submits/blast/blast_facts.json", "deploy/engine/rbac.yaml"):
        assert not ignored(source), source


@pytest.mark.parametrize(
    "path",
    [".git/config", ".venv/bin/python", "var/secret_key", "var/kubeconfig", "kubeconfig", ".env", "tests/world.py"],
)
def test_keys_history_and_what_is_kept_stay_out(path: str) -> None:
    assert ignored(path)
    assert not any(path == source or Path(path).is_relative_to(source) for source in copied())


def test_it_has_no_secret_and_no_root() -> None:
    for line in rest("ENV") + rest("ARG"):
        assert not re.search(r"SECRET|PASSWORD|TOKEN|KEY|_URL", line), line
    (user,) = rest("USER")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user), "a number, so that runAsNonRoot can be checked"
    words = [word for word, _ in instructions()]
    assert words.index("USER") > max(index for index, word in enumerate(words) if word in ("RUN", "COPY"))


def test_every_package_has_its_hash_and_what_builds_this_project_too() -> None:
    lock = CONTINUED.sub(" ", COMMENT.sub("", (REPOSITORY / "requirements.txt").read_text())).splitlines()
    packages = [line for line in lock if line.strip()]
    assert len(packages) > 30 and all("==" in line and "--hash=sha256:" in line for line in packages)
    installs = [line for line in (REPOSITORY / "scripts/setup.sh").read_text().splitlines() if "pip install" in line]
    assert len(installs) == 2 and "--require-hashes" in installs[0]
    assert "--no-deps" in installs[1] and "--no-build-isolation" in installs[1], "else the newest one is fetched"
    requires = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {re.split(r"[^\w-]", line)[0] for line in requires} <= {line.partition("==")[0] for line in packages}


def test_the_programs_that_pods_run_are_on_its_path() -> None:
    path = next(line for line in rest("ENV") if "PATH=" in line).split("PATH=")[1].split(":")
    (workdir,) = rest("WORKDIR")
    assert path[0] == f"{workdir}/.venv/bin"  # where setup puts what is in BIN here
    pods = [body["spec"]["template"]["spec"] for body in BODIES.values()]
    started = {container["command"][0] for pod in [*pods, *deployments().values()] for container in pod["containers"]}
    started |= {json.loads(line)[0] for line in rest("CMD")}
    assert started == {"coordui-engine", "python"} and all((BIN / name).exists() for name in started)


def test_what_it_copies_is_enough_to_start_and_nothing_is_written_there(tmp_path: Path) -> None:
    image, state = tmp_path / "image", tmp_path / "state"
    for source, target in copied().items():
        where = image / target
        where.parent.mkdir(parents=True, exist_ok=True)
        if (REPOSITORY / source).is_dir():
            shutil.copytree(REPOSITORY / source, where, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(REPOSITORY / source, where)
    before = sorted(image.rglob("*"))
    state.mkdir()
    environment = {
        "PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(image), "COORDUI_STATE": str(state), "HOME": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1", "DJANGO_SETTINGS_MODULE": "coordui.settings",
    }  # fmt: skip

    def python(*argv: str) -> str:
        done = subprocess.run(
            [sys.executable, *argv], cwd=image, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "finalize" in python("-m", "submits.engine.cli", "--help")
    python("manage.py", "migrate")
    assert (state / "db.sqlite3").exists()
    assert python("-c", LOOK).split() == [str(image / "submits"), "200", "200", "True"]
    assert sorted(image.rglob("*")) == before
    assert (image / "scripts/blast_facts.py").exists()  # docs/configuration.md runs it there
