"""Programs outside the workflow."""

import sys
from pathlib import Path

from relaxometer.core.checkout import refuse_other_package
from relaxometer.core.errors import UserError

try:
    refuse_other_package(Path())
except UserError as _error:
    sys.exit(f"error: {_error}")
