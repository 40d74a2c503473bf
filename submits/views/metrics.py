"""`/metrics`: the gate as numbers, in Prometheus's text format. Open like `/healthz`, for no search is named in it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from submits.shown.breaches import WORDS
from submits.shown.look import Look, home


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    look = Look.at(home())
    view = look.view
    gauges = {
        "active": (view["active"], "Searches that hold a place behind door B."),
        "ceiling": (view["ceiling"], "Places behind door B."),
        "waiting": (len(view["line"]), "Searches that stand in line."),
        "stuck": (len(view["stuck"]), "Finalizers that show no sign of life."),
        "known": (int(look.gate != "unknown"), "Whether the cluster and its gatekeeper answer."),
    }
    lines: list[str] = []
    for name, (value, about) in gauges.items():
        metric = f"coordui_gate_{name}"
        lines += [f"# HELP {metric} {about}", f"# TYPE {metric} gauge", f"{metric} {value}"]
    metric = "coordui_gate_breaches_total"
    lines += [f"# HELP {metric} Things that must never happen and did.", f"# TYPE {metric} counter"]
    lines += [f'{metric}{{kind="{kind}"}} {view["breach_counts"].get(kind, 0)}' for kind in WORDS]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; version=0.0.4; charset=utf-8")
