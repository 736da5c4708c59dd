"""What need not be imported is not."""

import subprocess
import sys

HIDDEN = """
import pyarrow
from relaxometer.core.lazy import hide_pandas_from_pyarrow
hide_pandas_from_pyarrow()
assert pyarrow.Table.from_pylist([{"a": 1}])["a"].to_pylist() == [1]
assert "pandas" not in sys.modules
import pandas
assert len(pandas.DataFrame({"a": [1]})) == 1
"""


def test_a_job_without_pandas_does_not_import_it():
    subprocess.run([sys.executable, "-c", f"import sys{HIDDEN}"], check=True)
