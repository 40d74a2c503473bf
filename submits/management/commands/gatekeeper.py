from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from submits.cluster.brisk import Brisk
from submits.gates.ports import ClusterError
from submits.scopes import connect, connection, default_scope
from submits.starting import refuse_to_admit
from submits.storekeeper import keeper


class Command(BaseCommand):
    help = "Watch the cluster, wake the line, publish what is seen. Runs until it is stopped."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            refuse_to_admit()
            scope = default_scope()
            gatekeeper = keeper(scope, connect(scope), Brisk(connection(scope)))
        except ClusterError as error:
            raise CommandError(str(error)) from error
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: gatekeeper.stop())
        gatekeeper.run()
