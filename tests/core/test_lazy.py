"""What need not be imported is not."""

import subprocess
import sys

import pytest

DEFERRED = """
from relaxometer.core.lazy import defer_pandas
defer_pandas()
from relaxometer.report import catalogue, terminal
assert len(catalogue.exhibits()) > 50
assert "pandas.core" not in sys.modules
assert catalogue.pd.DataFrame({"a": [1, 2]})["a"].sum() == 3
from pandas.api.types import is_numeric_dtype
assert sys.modules["pandas"].DataFrame is catalogue.pd.DataFrame
"""

HIDDEN = """
import pyarrow
from relaxometer.core.lazy import hide_pandas_from_pyarrow
hide_pandas_from_pyarrow()
assert pyarrow.Table.from_pylist([{"a": 1}])["a"].to_pylist() == [1]
assert "pandas" not in sys.modules
import pandas
assert len(pandas.DataFrame({"a": [1]})) == 1
"""


@pytest.mark.parametrize("code", [DEFERRED, HIDDEN])
def test_pandas_is_imported_only_where_it_is_used(code):
    subprocess.run([sys.executable, "-c", f"import sys{code}"], check=True)
