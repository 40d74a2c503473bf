"""A person without a browser: signs in by the printed address, fills in the form, reads the pages' JSON."""

from __future__ import annotations

import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from tests.world import until


def hidden(form: str) -> dict[str, str]:
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


class Visitor:
    """`signin`: an address that signs in, or the form that asks for `who`, a name and a password."""

    def __init__(self, signin: str, who: tuple[str, str] | None = None) -> None:
        self.home = signin.partition("/signin/")[0]
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(cookies)
        form = self.text(signin)
        if who is not None:
            self.text(signin, {**hidden(form), "username": who[0], "password": who[1]})

    def open(self, address: str, data: dict[str, str] | None = None) -> Any:
        body = urllib.parse.urlencode(data).encode() if data is not None else None
        url = address if address.startswith("http") else self.home + address
        request = urllib.request.Request(url, body, {"Referer": self.home + "/"})
        return self.opener.open(request, timeout=20)

    def text(self, address: str, data: dict[str, str] | None = None) -> str:
        with self.open(address, data) as answer:
            return str(answer.read().decode())

    def json(self, address: str) -> Any:
        return json.loads(self.text(address))

    def search(self, query: str, database: str, **options: str) -> str:
        """Press the button; the new search's key, from the page one lands on."""
        with self.open("/", {**hidden(self.text("/")), "query": query, "database": database, **options}) as answer:
            found = re.search(r"/searches/(\w+)/$", answer.url)
            assert found, answer.read().decode()[:2000]
            return found[1]

    def cancel(self, key: str) -> None:
        address = f"/searches/{key}/cancel/"
        self.text(address, hidden(self.text(address)))

    def state(self, key: str) -> Any:
        return self.json(f"/searches/{key}.json")

    def state_if_up(self, key: str) -> Any:
        """None while the web is away."""
        try:
            return self.state(key)
        except (urllib.error.URLError, OSError):
            return None

    def reaches(self, key: str, *statuses: str, within: float = 60) -> Any:
        def there() -> Any:
            state = self.state_if_up(key)
            return state if state and state["status"] in statuses else None

        return until(there, within)
