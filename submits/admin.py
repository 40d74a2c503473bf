"""The record, to be looked at. What moves searches is not done here: nothing in the admin changes a status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from submits.models import Cluster, Database, Event, Snapshot, Submission
from submits.shown.look import Look

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    Lines = admin.TabularInline[Event, Submission]
else:  # at run time these two take no parameters
    ModelAdmin, Lines = admin.ModelAdmin, admin.TabularInline

admin.site.site_header = admin.site.site_title = "coordui"
admin.site.index_title = "The record"


class ReadOnly(ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(getattr(request.user, "is_staff", False))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)


class EventLines(Lines):
    model = Event
    extra = 0
    can_delete = False
    fields = readonly_fields = ("at", "version", "status", "phase", "reason", "detail")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(getattr(request.user, "is_staff", False))


@admin.register(Submission)
class SubmissionAdmin(ReadOnly):
    list_display = ("key", "title", "owner", "status", "phase", "reason", "database", "hits", "created_at")
    list_filter = ("status", "reason", "scope", "database")
    search_fields = ("key", "run_id", "title", "owner__username")
    list_select_related = ("owner", "database")
    date_hierarchy = "created_at"
    inlines: ClassVar = [EventLines]


@admin.register(Event)
class EventAdmin(ReadOnly):
    list_display = ("at", "submission", "status", "phase", "reason")
    list_filter = ("status", "reason")
    search_fields = ("submission__key", "submission__title")
    list_select_related = ("submission",)


@admin.register(Database)
class DatabaseAdmin(ModelAdmin):
    """Titles, descriptions and whether it is offered may be changed; what BLAST says of it may not.

    One that a look has taken out of offer comes back by itself, and searches wait for it, until it is taken out here.
    """

    actions = ("take_out",)
    list_display = ("title", "key", "molecule", "sequences", "letters", "formatted", "ready", "scope")
    list_filter = ("molecule", "ready", "scope")
    search_fields = ("title", "key", "description")
    fields = (
        "title", "description", "ready", "trouble", "key", "path", "molecule", "sequences", "letters", "formatted",
        "taxonomy", "scope",
    )  # fmt: skip
    readonly_fields = (
        "trouble", "key", "path", "molecule", "sequences", "letters", "formatted", "taxonomy", "scope",
    )  # fmt: skip

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.action(permissions=["change"], description="Take out of offer, for good")
    def take_out(self, request: HttpRequest, chosen: QuerySet[Database]) -> None:
        """No look offers it again, and what waits for it ends; it can be offered again here."""
        count = chosen.update(ready=False, trouble="", trouble_since=None)
        self.message_user(request, f"{count} taken out of offer.")


@admin.register(Cluster)
class ClusterAdmin(ReadOnly):
    list_display = ("name", "namespace")


@admin.register(Snapshot)
class StuckFinalizers(ReadOnly):
    """What shows no sign of life in each scope, with age and evidence, as the gatekeeper last saw it."""

    def get_urls(self) -> list[URLPattern]:
        return [path("", self.admin_site.admin_view(self.stuck), name="submits_snapshot_changelist")]

    def stuck(self, request: HttpRequest) -> TemplateResponse:
        looks = [Look.at(scope) for scope in Cluster.objects.all()]
        context = {**self.admin_site.each_context(request), "title": "Stuck finalizers", "looks": looks}
        return TemplateResponse(request, "admin/stuck.html", context)
