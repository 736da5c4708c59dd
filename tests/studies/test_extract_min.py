"""ExtractMin by every method, and the table of its times."""

import numpy as np
import pytest

from relaxometer.problems.sssp.dijkstra._extract_min import THREADS
from relaxometer.results.statistics import FEWEST
from relaxometer.studies.extract_min import MAX_ROUNDS, TRIALS, OnCpu, Reduction, draw_values, time_all

ROUNDS = 40


def order_of(device, method):
    method(ROUNDS)
    return device.asnumpy(method.order)[:ROUNDS].tolist()


@pytest.mark.parametrize("n", [1, 10, 255, 1000, 20_001])
def test_all_methods_extract_the_same_values(device, n):
    values = draw_values(n, 3)
    orders = {name: order_of(device, OnCpu(name, values)) for name in ("loop", "heap")}
    orders |= {threads: order_of(device, Reduction(device, values, threads)) for threads in THREADS}
    assert orders["loop"][0] == int(values.argmin())
    assert all(order == orders["loop"] for order in orders.values())


@pytest.mark.parametrize("threads", THREADS)
def test_ties_go_to_the_first(device, threads):
    values = np.full(5000, 7, dtype=np.uint32)
    assert order_of(device, Reduction(device, values, threads)) == list(range(ROUNDS))


def test_the_table_has_one_row_per_trial_and_enough_for_a_verdict(host_device):
    table = time_all(host_device, seed=1, trials=2, sizes=(10, 1000)).to_pandas()
    assert len(table) == 2 * 2 * (len(THREADS) + 2)
    assert (table["time_ms"] > 0).all()
    assert set(table["rounds"]) <= set(range(1, MAX_ROUNDS))
    assert "cub" not in set(table["method"]), "is not measured in emulation"
    of_reduction = table["method"] == "reduction"
    assert set(table.loc[of_reduction, "threads"]) == set(THREADS)
    assert set(table.loc[of_reduction, "device_kind"]) == {"host"}
    assert table.loc[~of_reduction, "threads"].isna().all()
    assert set(table.loc[~of_reduction, "device_kind"]) == {"cpu"}
    assert TRIALS >= FEWEST
