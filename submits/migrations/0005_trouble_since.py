from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("submits", "0004_databases")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="database",
            name="trouble_since",
            field=models.DateTimeField(help_text="when that was found", null=True),
        ),
    ]
