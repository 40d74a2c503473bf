"""`manage.py up`: everything on one machine as one supervised tree. Loads no Django.

plan.py decides (pure) · child.py is one process on its leash · tree.py runs them all · probes.py asks whether one
is ready · specs.py says what the product's processes are · claim.py keeps a state directory to one `up` · cli.py is
the command.

The guarantee: when the supervisor ends, however it ends, nothing it started goes on (each child hangs on a leash).
The limit: a leash that is itself SIGKILLed takes only its command along, not what the command started.
"""

from __future__ import annotations
