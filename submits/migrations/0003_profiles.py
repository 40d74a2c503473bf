from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("submits", "0002_cancelling")]

    operations: ClassVar = [
        migrations.AlterField(
            model_name="database",
            name="molecule",
            field=models.CharField(
                choices=[("nucl", "nucleotide"), ("prot", "protein"), ("rps", "profiles")], max_length=4
            ),
        ),
    ]
