from __future__ import annotations

import sys

from .program import main

sys.exit(main())
