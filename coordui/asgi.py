"""What uvicorn serves: pages by Django, websockets by Channels, one sign-in for both."""

from __future__ import annotations

import os
import sys
from typing import Any, cast

from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coordui.settings")
pages = get_asgi_application()

# Only now are the models loaded that these import.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from coordui.entrance import BodyLimit, SameOrigin  # noqa: E402
from submits.checks import refuse_to_start  # noqa: E402
from submits.consumers import urlpatterns  # noqa: E402

try:
    refuse_to_start()
except ImproperlyConfigured as refused:
    sys.exit(f"coordui: {refused}")
routes = URLRouter(cast(Any, urlpatterns))  # the stubs know no route to a consumer
sockets = SameOrigin(AuthMiddlewareStack(routes))
application = ProtocolTypeRouter({"http": BodyLimit(pages), "websocket": sockets})
