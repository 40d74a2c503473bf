from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from submits.checks import refuse_to_start
from submits.gatekeeper import Gatekeeper
from submits.gates.ports import ClusterError
from submits.scopes import connect, default_scope


class Command(BaseCommand):
    help = "Watch the cluster, wake the line, publish what is seen. Runs until it is stopped."

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_to_start()
        scope = default_scope()
        try:
            gatekeeper = Gatekeeper(scope, connect(scope))
        except ClusterError as error:
            raise CommandError(str(error)) from error
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: gatekeeper.stop())
        gatekeeper.run()
