from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, register_converter

from submits.views import acts, data, errors, formats, gate, live, metrics, new, ready, search, signin


class KeyConverter:
    """A search's key, as far as its form goes."""

    regex = "[a-z0-9]{1,32}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(KeyConverter, "key")

urlpatterns = [
    path("", new.new, name="new"),
    path("look/", new.look, name="look"),
    path("searches/", search.searches, name="searches"),
    path("searches.json", data.searches, name="searches_json"),
    path("searches/<key:key>/", search.search, name="search"),
    path("searches/<key:key>.json", data.search, name="search_json"),
    path("searches/<key:key>/hits/", search.hits, name="hits"),
    path("searches/<key:key>/hits/<int:query>/<int:hit>/", search.alignments, name="alignments"),
    path("searches/<key:key>/coverage/<int:query>.svg", search.picture, name="picture"),
    path("searches/<key:key>/hits.tsv", search.download, {"kind": "tsv"}, name="tsv"),
    path("searches/<key:key>/hits.fasta", search.download, {"kind": "fasta"}, name="fasta"),
    path("searches/<key:key>/partial.tsv", search.partial, name="partial"),
    path("searches/<key:key>/formats/", formats.formats, name="formats"),
    path("searches/<key:key>/formats/<str:name>", formats.download, name="format"),
    path("searches/<key:key>/log/", search.log, name="log"),
    path("searches/<key:key>/log.txt", search.log_text, name="log_text"),
    path("searches/<key:key>/cancel/", acts.cancel_search, name="cancel"),
    path("searches/<key:key>/again/", acts.again, name="again"),
    path("gate/", gate.board, name="gate"),
    path("gate.json", data.gate, name="gate_json"),
    path("metrics", metrics.metrics, name="metrics"),
    path("readyz", ready.readyz, name="readyz"),
    path("help/", gate.help_page, name="help"),
    path("live/<slug:kind>/", live.look, name="live"),
    path("live/<slug:kind>/<key:key>/", live.look, name="live_key"),
    path("signin/", LoginView.as_view(template_name="signin.html", redirect_authenticated_user=True), name="signin"),
    path("signin/<str:token>/", signin.by_address, name="signin_by_address"),
    path("signout/", LogoutView.as_view(next_page="signin"), name="signout"),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.broken
