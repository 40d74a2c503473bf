from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("submits", "0003_profiles")]

    operations: ClassVar = [
        migrations.AlterModelOptions(name="event", options={"ordering": ["pk"]}),
        migrations.AddField(
            model_name="database",
            name="taxonomy",
            field=models.BooleanField(help_text="whether it knows the species of its sequences", null=True),
        ),
        migrations.AddField(
            model_name="database",
            name="trouble",
            field=models.CharField(blank=True, default="", help_text="why it is not offered any more", max_length=300),
        ),
    ]
