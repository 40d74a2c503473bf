"""The settings. Every value that may differ from machine to machine is a variable of docs/configuration.md.

This module needs nothing of Django but one exception, so that the supervisor can read it and stay small.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coordui import brokers, env
from coordui.layout import Layout, kept_secret

BASE_DIR = Path(__file__).resolve().parent.parent

# Where everything is kept
COORDUI_STATE = env.directory("COORDUI_STATE", None) or BASE_DIR / "var"
LAYOUT = Layout(COORDUI_STATE)
COORDUI_WORK_URL = env.text("COORDUI_WORK_URL", str(LAYOUT.work))
COORDUI_WORK_CLAIM = env.text("COORDUI_WORK_CLAIM")
COORDUI_WORK_SHARED = env.flag("COORDUI_WORK_SHARED", False)
COORDUI_WORK_SECRET = env.text("COORDUI_WORK_SECRET")
COORDUI_WORK_ACCOUNT = env.text("COORDUI_WORK_ACCOUNT")
COORDUI_BLASTDB = env.place("COORDUI_BLASTDB")
COORDUI_BLASTDB_SCAN = env.choice("COORDUI_BLASTDB_SCAN", "dashboard", ("cluster", "dashboard"))
COORDUI_BLASTDB_SCAN_SECONDS = env.integer("COORDUI_BLASTDB_SCAN_SECONDS", 300, least=5, most=604_800)
COORDUI_BLASTDB_CLAIM = env.text("COORDUI_BLASTDB_CLAIM")

# The web
COORDUI_PORT = env.integer("COORDUI_PORT", 8000, least=0, most=65535)
COORDUI_LISTEN = env.text("COORDUI_LISTEN", "127.0.0.1")
COORDUI_HOSTS = env.words("COORDUI_HOSTS")
COORDUI_HTTPS = env.flag("COORDUI_HTTPS", False)
COORDUI_MAX_QUERY_BYTES = env.integer("COORDUI_MAX_QUERY_BYTES", 50_000_000, least=1_000, most=1_000_000_000)
COORDUI_MAX_TYPED_BYTES = env.integer("COORDUI_MAX_TYPED_BYTES", 5_000_000, least=1_000, most=100_000_000)
DEBUG = env.flag("COORDUI_DEBUG", False)

# The parts
COORDUI_CLUSTER = env.choice("COORDUI_CLUSTER", "embedded", ("embedded", "kubeconfig", "incluster"))
COORDUI_CLUSTER_NAME = env.text("COORDUI_CLUSTER_NAME", COORDUI_CLUSTER)
COORDUI_CONTEXT = env.text("COORDUI_CONTEXT")
COORDUI_NAMESPACE = env.text("COORDUI_NAMESPACE", "default")
COORDUI_CLUSTER_FAULTS = env.flag("COORDUI_CLUSTER_FAULTS", False)
_kubeconfig = env.text("KUBECONFIG", "~/.kube/config")
# With the embedded cluster a KUBECONFIG that merely stands in the shell is not used.
KUBECONFIG = str(LAYOUT.kubeconfig if COORDUI_CLUSTER == "embedded" else Path(_kubeconfig).expanduser())
REDIS_URL = env.url("REDIS_URL", f"unix://{LAYOUT.socket()}", brokers.SCHEMES)
COORDUI_ENGINE = env.choice("COORDUI_ENGINE", "builtin", ("builtin", "elastic-blast"))
COORDUI_ELASTIC_BLAST = env.text("COORDUI_ELASTIC_BLAST", "elastic-blast")
COORDUI_ELASTIC_BLAST_CONFIG = env.file("COORDUI_ELASTIC_BLAST_CONFIG")
COORDUI_ELASTIC_BLAST_RESULTS = env.text("COORDUI_ELASTIC_BLAST_RESULTS")
COORDUI_ELASTIC_BLAST_RESULTS_AT = env.text("COORDUI_ELASTIC_BLAST_RESULTS_AT", COORDUI_ELASTIC_BLAST_RESULTS)
COORDUI_ELASTIC_BLAST_DATABASE = env.text("COORDUI_ELASTIC_BLAST_DATABASE", "{key}")
COORDUI_ELASTIC_BLAST_MARKERS = env.choice("COORDUI_ELASTIC_BLAST_MARKERS", "cli", ("cli", "ours"))
COORDUI_ELASTIC_BLAST_PASS = env.words("COORDUI_ELASTIC_BLAST_PASS")
COORDUI_BLAST_IMAGE = env.text("COORDUI_BLAST_IMAGE", "coordui:latest")
COORDUI_BLAST_FACTS = env.file("COORDUI_BLAST_FACTS")  # read by submits.blast.known
COORDUI_ENGINE_ACCOUNT = env.text("COORDUI_ENGINE_ACCOUNT", "coordui-engine")
COORDUI_NODE_MEMORY_GIB = env.integer("COORDUI_NODE_MEMORY_GIB", 0, least=0, most=1_000_000)
COORDUI_SUBMIT_JOURNAL = env.text("COORDUI_SUBMIT_JOURNAL")
COORDUI_SUBMIT_LOG_BYTES = env.integer("COORDUI_SUBMIT_LOG_BYTES", 1_000_000, least=10_000, most=1_000_000_000)
COORDUI_KEEP_SUBMITS = env.flag("COORDUI_KEEP_SUBMITS", False)
COORDUI_WORKERS = env.integer("COORDUI_WORKERS", 2, least=1, most=64)
COORDUI_SUBMIT_WORKERS = env.integer("COORDUI_SUBMIT_WORKERS", 2, least=1, most=64)
# Set by `up` for the processes it starts
COORDUI_SUPERVISOR = env.integer("COORDUI_SUPERVISOR", 0, least=0, most=2**31)
COORDUI_READY_FILE = env.directory("COORDUI_READY_FILE", None)

# The gates
BLAST_COORD_BACKEND = env.choice("BLAST_COORD_BACKEND", "k8s", ("k8s", "redis"))
BLAST_GATE_ENABLED = env.flag("BLAST_GATE_ENABLED", False)
BLAST_GATE_MAX_SLOTS_PER_CLUSTER = env.integer("BLAST_GATE_MAX_SLOTS_PER_CLUSTER", 1, least=1, most=64)
BLAST_MAX_RUN_CONCURRENCY = env.integer("BLAST_MAX_RUN_CONCURRENCY", 3, least=1, most=1000)
BLAST_SUBMIT_LEASE_TTL_SECONDS = env.integer("BLAST_SUBMIT_LEASE_TTL_SECONDS", 900, least=60, most=86400)
BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS = env.integer("BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS", 600, least=1, most=86400)
BLAST_LEASE_CLOCK_SKEW_SECONDS = env.integer("BLAST_LEASE_CLOCK_SKEW_SECONDS", 30, least=0, most=3600)
BLAST_FINALIZER_GRACE_SECONDS = env.integer("BLAST_FINALIZER_GRACE_SECONDS", 300, least=1, most=86400)
BLAST_SUBMIT_SLOT_WAIT_MAX_SECONDS = env.integer("BLAST_SUBMIT_SLOT_WAIT_MAX_SECONDS", 1800, least=1, most=604800)
BLAST_CAPACITY_WAIT_MAX_SECONDS = env.integer("BLAST_CAPACITY_WAIT_MAX_SECONDS", 1800, least=1, most=604800)
BLAST_V1_YIELD_SECONDS = env.integer("BLAST_V1_YIELD_SECONDS", 8, least=0, most=60)
BLAST_SPLIT_CHILD_GATE_WAIT_MAX_SECONDS = env.integer(
    "BLAST_SPLIT_CHILD_GATE_WAIT_MAX_SECONDS", 300, least=1, most=604800
)
BLAST_SPLIT_PARENT_GATE_BUDGET_SECONDS = env.integer(
    "BLAST_SPLIT_PARENT_GATE_BUDGET_SECONDS", 1800, least=1, most=604800
)
COORDUI_PROTOCOL_SCALE = env.number("COORDUI_PROTOCOL_SCALE", 1.0, least=0.001, most=100)

# Django
SECRET_KEY = env.text("SECRET_KEY") or kept_secret(LAYOUT.secret_key)
SECRET_IS_SHARED = bool(env.text("SECRET_KEY")) or LAYOUT.secret_key.exists()
INSTALLED_APPS = [
    "submits",
    "coordui",
    "coordui.onebox",
    "channels",
    "django_htmx",
    "servestatic",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "coordui.security.security_headers",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "coordui.urls"
ASGI_APPLICATION = "coordui.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
SQLITE: dict[str, Any] = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": LAYOUT.database,
    "OPTIONS": {
        # A transaction takes the write lock when it begins; the default fails at its first write instead of waiting.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
    },
}
DATABASES: dict[str, Any] = {"default": env.postgres("DATABASE_URL") or SQLITE}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
SERVESTATIC_USE_FINDERS = True
LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = env.text("COORDUI_TIME_ZONE", "UTC")

# Who may come in, and how a browser is told to treat us
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *COORDUI_HOSTS]
LOGIN_URL = "/signin/"
LOGIN_REDIRECT_URL = "/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Browsers share cookies among all ports of a host: names of our own keep us apart from a neighbour.
SESSION_COOKIE_NAME = "coordui_session"
CSRF_COOKIE_NAME = "coordui_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "submits.views.errors.stale_form"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = COORDUI_HTTPS
SECURE_REDIRECT_EXEMPT = ["^healthz", "^readyz$"]
SECURE_HSTS_SECONDS = 31_536_000 if COORDUI_HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if COORDUI_HTTPS else None
CSRF_TRUSTED_ORIGINS = [f"https://{host.removeprefix('.')}" for host in COORDUI_HOSTS] if COORDUI_HTTPS else []
SECURE_REFERRER_POLICY = "same-origin"
# A form may be twice as long as what it may bring, so that the form, not the parser, says that it is too long. What is
# typed is held in memory; a file goes to a disk as it comes.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * COORDUI_MAX_TYPED_BYTES + 1_000_000
COORDUI_MAX_BODY_BYTES = 2 * COORDUI_MAX_QUERY_BYTES + DATA_UPLOAD_MAX_MEMORY_SIZE

# The store: messages and hints
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "coordui.layers.HintLayer",
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_connect_timeout": 2}], "prefix": "coordui"},
    }
}
CELERY_BROKER_URL = brokers.celery_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_TIME_LIMIT = env.integer("CELERY_TASK_TIME_LIMIT", 3600, least=1, most=604800)
CELERY_TASK_SOFT_TIME_LIMIT = env.integer("CELERY_TASK_SOFT_TIME_LIMIT", 3300, least=1, most=604800)
# A message unacknowledged for longer than this is delivered again, so it must outlast every task.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 2 * CELERY_TASK_TIME_LIMIT,
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    # A store that does not answer must not hold a request; the row is there, and the gatekeeper finds it.
    "socket_connect_timeout": 5,
    "socket_timeout": 5,
    "max_retries": 1,
}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {"submits.tasks.search": {"queue": "submit"}}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 100
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 10
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = TIME_ZONE

LOG_LEVEL = env.choice("COORDUI_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
COORDUI_LOG_FORMAT = env.choice("COORDUI_LOG_FORMAT", "line", ("line", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"},
        "json": {"()": "coordui.logs.JsonFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": COORDUI_LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": ["console"], "level": LOG_LEVEL, "propagate": False},
        "uvicorn": {"handlers": ["console"], "level": LOG_LEVEL, "propagate": False},
        "uvicorn.access": {"handlers": [], "level": "WARNING", "propagate": False},
        "kubernetes": {"level": "WARNING"},
        "urllib3": {"level": "WARNING"},
    },
}
