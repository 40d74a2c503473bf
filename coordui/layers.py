"""The channel layer: hints to groups of open pages, and nothing else."""

from __future__ import annotations

import asyncio
import uuid

from channels_redis.pubsub import RedisPubSubChannelLayer  # type: ignore[import-untyped]


class HintLayer(RedisPubSubChannelLayer):  # type: ignore[misc]  # the library has no types
    """A page's own channel is only a queue of this process, into which its groups deliver.

    Nothing is sent to one page alone, so the store need not know of it; and while the store is away a page can be
    opened all the same, without hints.
    """

    async def new_channel(self, prefix: str = "specific.") -> str:
        layer = self._get_layer()
        channel = f"{layer.prefix}{prefix}{uuid.uuid4().hex}"
        layer.channels[channel] = asyncio.Queue()
        return channel
