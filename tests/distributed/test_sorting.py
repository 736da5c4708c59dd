"""Sorting of packed arcs; test_ranks.py compares whole preparations."""

import numpy as np
import pytest

from relaxometer.distributed.sssp.sssp_peers import sorted_arcs


@pytest.mark.parametrize(("row_bits", "fits"), [(5, True), (32, False)])
def test_arcs_are_sorted_by_row_weight_and_end_whether_or_not_keys_fit_64_bits(row_bits, fits):
    rng = np.random.default_rng(1)
    rows, ends = (rng.integers(0, 1 << 5, 500, dtype=np.uint32) for _ in range(2))
    weights = rng.choice(np.array([0, 7, 2**32 - 1], dtype=np.uint32), 500)
    arcs = weights.astype(np.uint64) << np.uint64(32) | ends
    order = np.lexsort([ends, weights, rows])
    assert (row_bits + 32 + 5 <= 64) == fits
    np.testing.assert_array_equal(sorted_arcs(np, rows, arcs, row_bits, 5), arcs[order])
