from __future__ import annotations

from django.db import migrations, models

import submits.states


class Migration(migrations.Migration):
    dependencies = [
        ("submits", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="submission",
            name="cancel_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="submission",
            name="cancel_by",
            field=models.CharField(blank=True, help_text="who wants it gone", max_length=150),
        ),
        migrations.AddField(
            model_name="submission",
            name="cancel_why",
            field=models.CharField(blank=True, help_text="an operator's reason", max_length=200),
        ),
        migrations.AddField(
            model_name="submission",
            name="form_digest",
            field=models.CharField(blank=True, help_text="of what the form held when it was received", max_length=32),
        ),
        migrations.AlterField(
            model_name="submission",
            name="phase",
            field=models.CharField(
                choices=[
                    ("received", "received"),
                    ("preparing", "preparing"),
                    ("in_line", "in_line"),
                    ("gate_taken", "gate_taken"),
                    ("place_announced", "place_announced"),
                    ("places_counted", "places_counted"),
                    ("submit_running", "submit_running"),
                    ("verifying", "verifying"),
                    ("starting", "starting"),
                    ("searching", "searching"),
                    ("merging", "merging"),
                    ("stopping", "stopping"),
                    ("clearing", "clearing"),
                    ("ready", "ready"),
                    ("ended", "ended"),
                ],
                default=submits.states.Phase["RECEIVED"],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="submission",
            name="status",
            field=models.CharField(
                choices=[
                    ("queued", "queued"),
                    ("preparing", "preparing"),
                    ("waiting", "waiting"),
                    ("submitting", "submitting"),
                    ("running", "running"),
                    ("cancelling", "cancelling"),
                    ("completed", "completed"),
                    ("failed", "failed"),
                    ("cancelled", "cancelled"),
                ],
                default=submits.states.Status["QUEUED"],
                max_length=12,
            ),
        ),
    ]
