"""The language and library of kernels, checked against NumPy on every device."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from relaxometer.device import KernelError, rates

KERNELS = Path(__file__).parent / "kernels"
LANES = np.arange(32)


@pytest.fixture(scope="module")
def coverage(device):
    return device.module(
        KERNELS / "coverage.cu", name_expressions=("scale<float, 3>", "scale<unsigned long long, 5>")
    )


@pytest.fixture(scope="module")
def cooperative(device):
    return device.module(KERNELS / "cooperative.cu", cooperative=True)


@pytest.fixture
def items():
    """256 items below 1000, in eight warps; the second warp has a 7, the third a 0."""
    values = np.random.default_rng(1).integers(1, 850, 256).astype(np.uint32)
    values[40] = 7
    values[70] = 0
    values[130] = 999
    return values


def ballots(votes):
    """Pack each row of 32 votes into a word."""
    return (votes.astype(np.uint64) << LANES.astype(np.uint64)).sum(axis=1).astype(np.uint32)


def run(device, kernel, grid, block, inputs, *outputs, shared_mem=0):
    """Launch with inputs before outputs; return the outputs as NumPy arrays."""
    on_device = [device.asarray(array) if isinstance(array, np.ndarray) else array for array in inputs]
    results = [device.asarray(array) for array in outputs]
    kernel(grid, block, (*on_device, *results), shared_mem=shared_mem)
    arrays = [device.asnumpy(result) for result in results]
    return arrays[0] if len(arrays) == 1 else arrays


def task_members(device):
    """Return members of `Task` in ``coverage.cu``, and the array that its kernel writes."""
    out = device.asarray(np.zeros(3))
    members = {
        "doubled": np.bool_(True),
        "rows": {"values": device.asarray(np.array([1, 2, 3], np.uint32)), "n": np.uint32(3)},
        "more_rows": {"values": device.asarray(np.array([10, 20], np.uint32)), "n": np.uint32(2)},
        "small": np.uint8(200),
        "shift": np.int64(2**40),
        "parts": [device.asarray(np.array([k], np.uint32)) for k in (7, 8)],
        "steps": np.array([1, 2, -3], np.int16),
        "out": out,
    }
    return members, out


class TestWarps:
    def test_votes_and_shuffles(self, device, coverage, items):
        kernel = coverage.get_function("votes_and_shuffles")
        out = run(device, kernel, 2, 128, [items], np.zeros((256, 8), np.uint32)).reshape(8, 32, 8)
        warps = items.reshape(8, 32)
        assert (out[:, :, 0] == ballots(warps & 1)[:, None]).all()
        assert (out[:, :, 1] == (warps == 7).any(axis=1)[:, None]).all()
        assert (out[:, :, 2] == out[:, :, 4]).all()
        assert (out[:, :, 3] == warps[:, (LANES + 5) % 32]).all()
        assert (out[:, :, 4] == warps[:, np.where(LANES < 4, LANES, LANES - 4)]).all()
        assert (out[:, :, 5] == warps[:, np.where(LANES + 3 > 31, LANES, LANES + 3)]).all()
        assert (out[:, :, 6] == warps[:, LANES ^ 16]).all()
        assert (out[:, :, 7] == warps[:, np.where(LANES % 8 + 2 > 7, LANES, LANES + 2)]).all()

    def test_matches_and_reductions(self, device, coverage, items):
        kernel = coverage.get_function("matches_and_reductions")
        out = run(device, kernel, 2, 128, [items], np.zeros((256, 8), np.uint32)).reshape(8, 32, 8)
        warps = items.reshape(8, 32)
        alike = warps[:, :, None] % 4 == warps[:, None, :] % 4
        assert (out[:, :, 0] == ballots(alike.reshape(256, 32)).reshape(8, 32)).all()
        for column, reduction in enumerate(
            (np.add, np.minimum, np.maximum, np.bitwise_or, np.bitwise_and), start=1
        ):
            assert (out[:, :, column] == reduction.reduce(warps, axis=1)[:, None]).all(), reduction
        signed = warps.astype(np.int32) - 500
        assert (out[:, :, 6].view(np.int32) == signed.min(axis=1)[:, None]).all()
        assert (out[:, :, 7].view(np.int32) == signed.max(axis=1)[:, None]).all()

    def test_diverged_halves_vote_apart(self, device, coverage, items):
        out = run(device, coverage.get_function("diverged_votes"), 2, 128, [items], np.zeros(256, np.uint32))
        warps = items.reshape(8, 32)
        low = ballots((warps & 2 != 0) & (LANES < 16))
        high = ballots((warps & 4 != 0) & (LANES >= 16))
        assert (out.reshape(8, 32) == np.where(LANES < 16, low[:, None], high[:, None])).all()

    def test_shuffles_of_eight_bytes(self, device, coverage, items):
        words = items.astype(np.uint64) << np.uint64(32) | np.arange(256, dtype=np.uint64)
        outputs = np.zeros(256, np.uint64), np.zeros(256)
        maximum, total = run(device, coverage.get_function("wide_shuffles"), 8, 32, [words], *outputs)
        warps = words.reshape(8, 32)
        assert (maximum.reshape(8, 32) == warps.max(axis=1)[:, None]).all()
        assert (total.reshape(8, 32) == warps.astype(float).sum(axis=1)[:, None]).all()


class TestSingleThreads:
    def test_bit_counts(self, device, coverage):
        x = np.random.default_rng(2).integers(0, 2**64, 64, dtype=np.uint64)
        x[:4] = (0, 1, 2**63, 2**64 - 1)
        out = run(device, coverage.get_function("bit_counts"), 2, 32, [x], np.zeros((64, 8), np.int64))
        for value, row in zip(map(int, x), out.tolist(), strict=True):
            low = value % 2**32
            assert row[:4] == [
                low.bit_count(),
                32 - low.bit_length(),
                (low & -low).bit_length(),
                int(f"{low:032b}"[::-1], 2),
            ]
            assert row[4:7] == [value.bit_count(), 64 - value.bit_length(), (value & -value).bit_length()]
            assert row[7] % 2**64 == int(f"{value:064b}"[::-1], 2)

    def test_reinterpretations(self, device, coverage):
        x = np.linspace(-3, 3, 32, dtype=np.float32)
        outputs = np.zeros(32, np.float32), np.zeros(32)
        out, wide = run(device, coverage.get_function("reinterpretations"), 1, 32, [x], *outputs)
        assert (out == abs(x)).all()
        assert (wide == x).all()

    def test_minimum_and_maximum_with_a_nan_are_the_number(self, device, coverage):
        x = np.array([1, np.nan, -2, np.nan, np.inf, 3, np.nan, 4], np.float32)
        kernel = coverage.get_function("extremes_of_floats")
        out, wide = run(device, kernel, 1, 8, [x], np.zeros((8, 2), np.float32), np.zeros((8, 2)))
        expected = np.stack([np.fmin(x, x[::-1]), np.fmax(x, x[::-1])], axis=1)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(wide, expected)


class TestAtomics:
    def test_of_u32(self, device, coverage):
        n = 5000
        x = np.random.default_rng(3).integers(0, 2**32, n, dtype=np.uint32)
        start = np.zeros(7, np.uint32)
        start[[1, 3]] = 2**32 - 1
        out = run(device, coverage.get_function("atomics_of_u32"), 20, 256, [np.uint32(n), x], start)
        total = int(x.sum(dtype=np.uint64)) % 2**32
        low, high = np.bitwise_and.reduce(x), np.bitwise_or.reduce(x)
        assert out.tolist() == [total, x.min(), x.max(), low, high, 42, total]

    def test_of_other_types(self, device, coverage):
        n = 3000
        x = np.random.default_rng(4).integers(-1000, 1000, n).astype(np.int32)
        keys = (x + 1000).astype(np.uint64) << np.uint64(32) | np.arange(n, dtype=np.uint64)
        limits = np.iinfo(np.int64)
        ints, words, longs, floats, doubles = run(
            device,
            coverage.get_function("atomics_of_other_types"),
            12,
            256,
            [np.uint32(n), x],
            np.array([0, 2**31 - 1, -(2**31)], np.int32),
            np.array([0, 2**64 - 1, 0, 0, 0, 0], np.uint64),
            np.array([limits.max, limits.min]),
            np.zeros(1, np.float32),
            np.zeros(1),
        )
        assert ints.tolist() == [x.sum(), x.min(), x.max()]
        assert words[:4].tolist() == [(x + 1000).sum(), keys.min(), keys.max(), np.bitwise_or.reduce(keys)]
        assert words[4] - 1 in keys
        assert words[5] == 43
        assert longs.tolist() == [x.min(), x.max()]
        assert floats[0] == n
        assert doubles[0] == n / 2


class TestBlocks:
    def test_votes_of_a_block(self, device, coverage):
        out = run(device, coverage.get_function("block_votes"), 1, 100, [], np.zeros(4, np.int32))
        assert out.tolist() == [34, 1, 1, 0]

    def test_threads_that_returned_hold_no_barrier_up(self, device, coverage):
        out = run(device, coverage.get_function("early_exit"), 1, 64, [], np.zeros(64, np.int32))
        assert out[:40].tolist() == list(range(39, -1, -1))

    def test_static_shared_memory_in_two_dimensions(self, device, coverage):
        n = 50
        matrix = np.random.default_rng(5).random((n, n), dtype=np.float32)
        kernel = coverage.get_function("transpose")
        out = run(device, kernel, (4, 4), (16, 16), [np.int32(n), matrix], np.zeros((n, n), np.float32))
        assert (out == matrix.T).all()

    @pytest.mark.parametrize(("block", "n_bytes"), [(64, 64 * 4), (256, 96 * 1024)])
    def test_dynamic_shared_memory(self, device, coverage, items, block, n_bytes):
        kernel = coverage.get_function("dynamic_shared_reversal")
        out = run(device, kernel, 256 // block, block, [items], np.zeros(256, np.uint32), shared_mem=n_bytes)
        assert (out.reshape(-1, block) == items.reshape(-1, block)[:, ::-1]).all()

    def test_more_shared_memory_than_there_is(self, device, coverage, items):
        kernel = coverage.get_function("dynamic_shared_reversal")
        with pytest.raises(KernelError, match="dynamic_shared_reversal"):
            run(device, kernel, 1, 256, [items], np.zeros(256, np.uint32), shared_mem=2**20)

    def test_instantiations_of_a_template_have_their_own_shared_memory(self, device, coverage):
        a, b = np.arange(64.0), np.arange(64, dtype=np.int32)
        out_a, out_b = run(device, coverage.get_function("shared_of_templates"), 1, 64, [], a, b)
        assert (out_a == a[::-1] + 1).all()
        assert (out_b == b + 3 + 2 + 7 + b).all()

    def test_coordinates(self, device, coverage):
        grid, block = (3, 2, 2), (4, 3, 2)
        out = run(
            device, coverage.get_function("coordinates"), grid, block, [], np.zeros((288, 6), np.uint32)
        )
        axes = np.indices((*grid[::-1], *block[::-1])).reshape(6, -1)
        assert (axes[[2, 1, 0, 5, 4, 3]] == out.T).all()

    def test_nanosleep_lets_others_run(self, device, coverage):
        flag = device.xp.zeros(1, dtype=np.uint32)
        out = device.xp.zeros(2, dtype=np.uint32)
        coverage.get_function("wait_for_flag")(1, 64, (flag, out))
        assert device.item(out) == 5


class TestParameters:
    def test_values(self, device, coverage):
        args = (
            np.bool_(True),
            np.uint8(250),
            np.int16(-3),
            np.int64(2**40),
            np.float32(0.5),
            np.float64(1e100),
        )
        out = run(device, coverage.get_function("values"), 1, 32, args, np.zeros(6))
        assert out.tolist() == [1, 250, -3, 2**40, 0.5, 1e100]

    def test_structures(self, device, coverage):
        mark = np.array((7, 1.5), np.dtype([("x", "i4"), ("y", "f4")]))[()]
        out = run(device, coverage.get_function("structure"), 1, 1, [mark], np.zeros(2))
        assert out.tolist() == [7, 1.5]

    def test_packed_structures(self, device, coverage):
        members, out = task_members(device)
        kernel = coverage.get_function("structure_of_pointers")
        task = coverage.struct("Task", **members)
        task.set(rows={"n": np.uint32(1)}, doubled=np.bool_(False), small=np.uint8(1))
        kernel(1, 1, (np.uint32(5), task))
        assert device.asnumpy(out).tolist() == [1 + 10 + 20 + 5, 1 + 2**40, 7 + 80 + 100 - 3000]
        task.set(rows={"n": np.uint32(2)}, steps=[np.int16(0)] * 3)
        kernel(1, 1, (np.uint32(0), task))
        assert device.asnumpy(out).tolist() == [1 + 2 + 10 + 20, 1 + 2**40, 7 + 80]

    @pytest.mark.parametrize(
        ("changed", "complaint"),
        [
            ({"small": 1}, r"member small \(u8 small\): wanted a NumPy scalar numpy.uint8, given the int 1"),
            ({"out": None, "outt": None}, "unknown member 'outt'; there are: doubled, rows, more_rows"),
            ({"rows": {"n": np.int32(1)}}, r"member rows, member n \(u32 n\): .*given the numpy.int32"),
            ({"rows": None}, r"member rows \(Rows rows\): wanted a mapping of the members of Rows"),
            ({"parts": [None]}, "member parts .*wanted 2 values, each a contiguous uint32 device array"),
            ({"parts": [None, 1]}, r"member parts\[1\] \(const u32\* parts\[PARTS\]\): .*given the int 1"),
            ({"steps": np.zeros(3, np.int32)}, r"member steps\[0\] .*numpy.int16, given the numpy.int32"),
            ({"out": 6}, r"member out \(double\* out\): .*given the int 6"),
        ],
    )
    def test_wrong_members(self, device, coverage, changed, complaint):
        members, _ = task_members(device)
        kernel = coverage.get_function("structure_of_pointers")
        with pytest.raises(TypeError, match=r"structure_of_pointers, argument 2 \(const .*" + complaint):
            kernel(1, 1, (np.uint32(5), members | changed))
        with pytest.raises(TypeError, match="struct Task.*" + complaint):
            coverage.struct("Task", **members).set(**changed)

    def test_missing_members(self, device, coverage):
        members, _ = task_members(device)
        kernel = coverage.get_function("structure_of_pointers")
        with pytest.raises(TypeError, match="struct Task: missing members: doubled, more_rows, small"):
            kernel(1, 1, (np.uint32(5), coverage.struct("Task", rows=members["rows"])))
        members["more_rows"] = {}
        with pytest.raises(TypeError, match=r"argument 2 .*member more_rows: missing members: values, n"):
            kernel(1, 1, (np.uint32(5), members))

    def test_packed_structures_fit_their_like_only(self, device, coverage):
        rows = coverage.struct("Rows", n=np.uint32(1), values=None)
        with pytest.raises(TypeError, match="wanted a mapping of the members of Task, given a struct Rows"):
            coverage.get_function("structure_of_pointers")(1, 1, (np.uint32(5), rows))
        with pytest.raises(KernelError, match=r"coverage\.cu: no plain struct 'Row'; there are: .*Rows"):
            coverage.struct("Row")

    def test_what_is_packed_for_later_keeps_its_arrays(self, device, coverage):
        task, kernel = coverage.struct("Task"), coverage.get_function("optional_array")
        member = device.xp.ones(1)
        bound, launched = (device.xp.zeros(1, dtype=np.uint32) for _ in range(2))
        alive = [weakref.ref(array) for array in (member, bound, launched)]
        task.set(out=member)
        launch = kernel.bind(1, 1, (None, bound))
        kernel(1, 1, (None, launched))
        device.synchronize()
        del member, bound, launched
        gc.collect()
        assert [array() is not None for array in alive] == [True, True, False]
        task.set(out=None)
        launch.set(out=None)
        gc.collect()
        assert all(array() is None for array in alive)

    def test_a_prepared_launch_is_repeated_with_changes(self, device, coverage):
        members, out = task_members(device)
        task = coverage.struct("Task", **members)
        launch = coverage.get_function("structure_of_pointers").bind(1, 1, (np.uint32(5), task))
        launch(offset=np.uint32(6))
        assert device.asnumpy(out)[0] == 2 * 36 + 6
        task.set(doubled=np.bool_(False))
        launch()
        assert device.asnumpy(out)[0] == 36 + 6
        coverage.get_function("structure_of_pointers")(1, 1, (np.uint32(1), members))
        launch()
        assert device.asnumpy(out)[0] == 36 + 6
        launch(task=members)
        assert device.asnumpy(out)[0] == 2 * 36 + 6
        with pytest.raises(TypeError, match=r"argument 2 .*: wanted a mapping .*, given the int 1"):
            launch.set(task=1)

    def test_wrong_arguments_of_a_prepared_launch(self, device, coverage):
        kernel = coverage.get_function("optional_array")
        out = device.asarray(np.zeros(1, np.uint32))
        with pytest.raises(
            TypeError, match=r"kernel optional_array: wanted 2 arguments .maybe, out., given 1"
        ):
            kernel.bind(1, 1, (out,))
        launch = kernel.bind(1, 1, (None, out))
        with pytest.raises(
            TypeError, match="kernel optional_array: unknown argument 'in'; there are: maybe, out"
        ):
            launch(**{"in": out})
        with pytest.raises(TypeError, match=r"kernel optional_array, argument 2 .*given an array of int32"):
            launch(out=device.asarray(np.zeros(1, np.int32)))
        launch(maybe=device.asarray(np.zeros(1, np.uint32)))
        assert device.item(out) == 2
        with pytest.raises(KernelError, match="kernel optional_array: a grid of 1 blocks of 2048 threads"):
            kernel.bind(1, 2048, (None, out))

    def test_templates(self, device, coverage):
        n = np.uint32(1000)
        x = device.xp.arange(1000, dtype=np.float32)
        coverage.get_function("scale<float, 3>")(4, 256, (x, n))
        assert (device.asnumpy(x) == 3 * np.arange(1000)).all()
        y = device.xp.arange(1000, dtype=np.uint64)
        coverage.get_function("scale<unsigned long long, 5>")(4, 256, (y, n))
        assert (device.asnumpy(y) == 5 * np.arange(1000)).all()

    def test_macros_of_the_caller(self, device, tmp_path):
        (tmp_path / "value.cu").write_text('extern "C" __global__ void value(int* out) { out[0] = VALUE; }')
        module = device.module(tmp_path / "value.cu", options=("-DVALUE=42",))
        assert run(device, module.get_function("value"), 1, 1, [], np.zeros(1, np.int32)) == 42


class TestCooperativeLaunches:
    def test_grid_sync(self, device, cooperative):
        kernel = cooperative.get_function("rounds")
        blocks = min(5, device.max_cooperative_blocks(kernel, 64))
        sums = run(
            device,
            kernel,
            blocks,
            64,
            [np.uint32(9), np.zeros(blocks, np.uint32)],
            np.zeros(blocks * 64, np.uint32),
        )
        assert (sums == 9 * blocks * (blocks + 1) // 2).all()

    def test_too_many_blocks_are_an_error(self, device, cooperative):
        kernel = cooperative.get_function("rounds")
        blocks = device.max_cooperative_blocks(kernel, 256) + 1
        with pytest.raises(KernelError, match=rf"rounds: a cooperative launch of {blocks} blocks; at most"):
            kernel(blocks, 256, (np.uint32(1), None, None))


class TestLaunches:
    @pytest.mark.parametrize(
        ("grid", "block", "wanted"),
        [
            *(
                (*shape, "each one to three whole")
                for shape in ((0, 32), (1, 0), (-1, 32), (2.5, 32), ((), 64))
            ),
            *((*shape, "each one to three whole") for shape in (((1, 1, 1, 1), 64), (1, (2, 2, 2, 2)))),
            *((1, block, "a block has at most 1024") for block in (1025, (32, 64), (1, 1, 128))),
            ((1, 70000), 32, "a grid has at most"),
        ],
    )
    def test_impossible_shapes(self, device, coverage, grid, block, wanted):
        with pytest.raises(KernelError, match=rf"set_to_one.*impossible: .*{wanted}"):
            coverage.get_function("set_to_one")(grid, block, (device.xp.zeros(1, dtype=np.uint32),))

    def test_unknown_kernel(self, coverage):
        with pytest.raises(KernelError, match=r"coverage\.cu.*'nowhere'"):
            coverage.get_function("nowhere")

    def test_missing_file(self, device, tmp_path):
        with pytest.raises(KernelError, match=r"cannot read .*nothing\.cu"):
            device.module(tmp_path / "nothing.cu")

    def test_timer(self, device, coverage):
        out = device.xp.zeros(2**16, dtype=np.uint32)
        with device.timer() as timer:
            coverage.get_function("set_to_one")(256, 256, (out,))
        assert 0 < timer.ms < 60_000

    def test_arrays_come_and_go_as_copies(self, device):
        original = np.arange(5, dtype=np.int32)
        array = device.asarray(original)
        original[0] = 77
        assert device.item(array) == 0
        assert device.item(array, 4) == 4
        back = device.asnumpy(array)
        array.fill(9)
        assert back.tolist() == [0, 1, 2, 3, 4]


def test_a_module_is_loaded_once_until_one_of_its_files_changes(device, tmp_path, monkeypatch):
    header, source = tmp_path / "added.cuh", tmp_path / "adds.cu"
    source.write_text(
        '#include "added.cuh"\nextern "C" __global__ void adds(int* to) { *to += ADDED; }\n', encoding="utf-8"
    )

    def added(text):
        header.write_text(text, encoding="utf-8")
        module = device.module(source)
        to = device.xp.zeros(1, dtype=np.int32)
        module.get_function("adds")(1, 1, (to,))
        return module, int(device.asnumpy(to)[0])

    first, one = added("#define ADDED 1\n")
    assert device.module(source) is first
    assert first.get_function("adds") is first.get_function("adds")
    monkeypatch.chdir(tmp_path)
    assert device.module(Path("adds.cu")) is first
    assert device.module(source, options=("-DOTHER",)) is not first
    second, three = added("#define ADDED 3 \n")
    assert (one, three) == (1, 3)
    assert second is not first
    header.unlink()
    with pytest.raises(KernelError, match="added"):
        device.module(source)


def test_a_copy_has_a_rate_and_copies_every_word(device, monkeypatch):
    copied = []
    monkeypatch.setattr(device.xp, "empty_like", lambda array: copied.append(array * 0) or copied[0])
    rate = rates.copy_rate(device)
    assert (rate["device_kind"], rate["device"]) == (device.kind, device.name)
    assert 0 < rate["copy_gb_s"] < float("inf")
    np.testing.assert_array_equal(device.asnumpy(copied[0]), np.arange(copied[0].size))


def test_one_element_is_fetched_from_either_end(device):
    array = device.asarray(np.arange(10, dtype=np.uint64))
    assert [device.item(part, k) for part in (array, array[3:]) for k in (0, 1, -1)] == [0, 1, 9, 3, 4, 9]
    for part, k in ((array, 10), (array, -11), (array[:0], 0)):
        with pytest.raises(IndexError):
            device.item(part, k)
