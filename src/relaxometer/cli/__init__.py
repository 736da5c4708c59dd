"""Programs outside the workflow."""

import sys
from pathlib import Path

from relaxometer.core.checkout import refuse_other_package
from relaxometer.core.environment import forget_harmful
from relaxometer.core.errors import UserError

# Numba reads its variables when it is imported.
forget_harmful()
try:
    refuse_other_package(Path())
except UserError as _error:
    sys.exit(f"error: {_error}")
