"""coordui.settings with a state directory of the run's own, and nothing of the shell's settings."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

MINE = ("COORDUI_", "BLAST_", "CELERY_", "KUBERNETES_SERVICE_")
for name in list(os.environ):
    if name.startswith(MINE) or name in ("KUBECONFIG", "REDIS_URL", "DATABASE_URL", "SECRET_KEY"):
        del os.environ[name]
_state = tempfile.mkdtemp(prefix="coordui-tests-")
atexit.register(shutil.rmtree, _state, ignore_errors=True)
os.environ["COORDUI_STATE"] = _state
if "TEST_DATABASE_URL" in os.environ:
    os.environ["DATABASE_URL"] = os.environ["TEST_DATABASE_URL"]
# Programs that a test starts are to find the real settings.
os.environ["DJANGO_SETTINGS_MODULE"] = "coordui.settings"

from coordui.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if not os.environ.get("DATABASE_URL"):
    # A file, as in use: the in-memory database answers "table is locked" where a file waits its turn.
    DATABASES["default"]["TEST"] = {"NAME": os.path.join(_state, "test.sqlite3")}  # noqa: F405
