from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("submits", "0005_trouble_since")]

    operations: ClassVar = [
        migrations.AlterField(
            model_name="submission",
            name="outages",
            field=models.PositiveSmallIntegerField(
                default=0,
                help_text="tries in a row for which the cluster or the work store did not answer or was not ready",
            ),
        ),
    ]
