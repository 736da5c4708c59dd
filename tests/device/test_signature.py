"""Parameter lists read from source text, and checks of arguments."""

import numpy as np
import pytest

from relaxometer.device.arguments import Arguments
from relaxometer.device.signature import read_source


def parameters(tmp_path, text, kernel="k"):
    path = tmp_path / "kernels.cu"
    path.write_text(text)
    return read_source(path, []).parameters(kernel)


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        ("int", "i4"),
        ("unsigned", "u4"),
        ("const int", "i4"),
        ("unsigned long long int", "u8"),
        ("long long unsigned", "u8"),
        ("short", "i2"),
        ("signed char", "i1"),
        ("unsigned char", "u1"),
        ("bool", "?"),
        ("float", "f4"),
        ("double", "f8"),
        ("size_t", "u8"),
        ("uint32_t", "u4"),
        ("cuda::std::int64_t", "i8"),
        ("std::uint8_t", "u1"),
    ],
)
def test_scalar_types(tmp_path, declared, dtype):
    (value, pointer) = parameters(
        tmp_path, f'extern "C" __global__ void k({declared} value, const {declared}* __restrict__ p) {{}}'
    )
    assert value.dtype == np.dtype(dtype)
    assert not value.is_pointer
    assert pointer.dtype == np.dtype(dtype)
    assert pointer.is_pointer
    assert pointer.is_const


def test_names_and_pointers(tmp_path):
    text = """
        extern "C" __global__ void __launch_bounds__(256, (2)) k(
            const unsigned int* __restrict__ in,  // what comes in, and a comma
            float *out, int /* n, really */ n, volatile int* flag, double const *x, int counts[4],
            void* anything, float** rows)
        {}
    """
    read = parameters(tmp_path, text)
    assert [p.name for p in read] == ["in", "out", "n", "flag", "x", "counts", "anything", "rows"]
    assert [p.is_pointer for p in read] == [True, True, False, True, True, True, True, True]
    assert [p.is_const for p in read] == [True, False, False, False, True, False, False, False]
    assert [p.dtype for p in read][-2:] == [None, None]


@pytest.mark.parametrize(
    ("declaration", "names"),
    [
        ("__global__ __launch_bounds__(256) void k(int n)", ["n"]),
        ("__global__ void __launch_bounds__(256, 2) k(int n)", ["n"]),
        ("// __global__ void k(int gone)\n/* __global__ void k(int a) */ __global__ void k(int n)", ["n"]),
        ("__global__ void k()", []),
        ("__global__ void k(void)", []),
    ],
)
def test_declarations(tmp_path, declaration, names):
    assert [p.name for p in parameters(tmp_path, declaration + " {}")] == names


@pytest.mark.parametrize("expression", ["~0u >> 1", "(0u - 1) / 2", "-7 / 2", "7 / -2", "-(1 << 4) >> 2"])
def test_quotients_and_shifts_of_negative_numbers_are_unknown(tmp_path, expression):
    path = tmp_path / "kernels.cu"
    path.write_text(f"const unsigned FULL = ~0u;\nconst unsigned HALF = {expression}, ONE = 7 / 2 >> 1;\n")
    assert read_source(path, []).constants == {"FULL": 2**32 - 1, "ONE": 1}


def test_options_replace_types_that_are_macros(tmp_path):
    path = tmp_path / "kernels.cu"
    path.write_text("""
        #ifndef LENGTH
        #define LENGTH unsigned
        #endif
        typedef LENGTH length_t;
        typedef unsigned long long u64;
        struct Entry { length_t length; unsigned vertex; };
        extern "C" __global__ void k(const length_t* lengths, Entry entry) {}
    """)
    for options, dtype, size in (((), np.uint32, 8), (("-O2", "-DLENGTH=u64", "-DLENGTH_2"), np.uint64, 16)):
        source = read_source(path, options=options)
        lengths, entry = source.parameters("k")
        assert lengths.dtype == dtype
        assert entry.layout.size == size


def test_plain_structs(tmp_path):
    (tmp_path / "types.cuh").write_text("struct Pair { unsigned a, b; };\nconst int N = 2;\n")
    path = tmp_path / "kernels.cu"
    path.write_text("""
        #include "types.cuh"
        template <typename T> struct Box { T item; };
        struct Named : Pair { int c; };
        struct alignas(16) Wide { int x; };
        struct Search {
            static const int LANES = 32;
            char small = 'x';
            const float *__restrict__ lengths, *heights;
            Pair pairs[N + 1];
            __device__ int twice() const { if (small) { return 2; } return 2 * small; }
            bool done;
        };
    """)
    source = read_source(path)
    assert set(source.layouts) == {"Pair", "Search"}
    search = source.layout("Search")
    assert list(search.members) == ["small", "lengths", "heights", "pairs", "done"]
    assert [search.offset(name) for name in search.members] == [0, 8, 16, 24, 48]
    assert search.size == 56
    assert search.members["heights"].declaration == "const float *heights"
    assert search.members["pairs"].count == 3


def test_constants(tmp_path):
    (tmp_path / "types.cuh").write_text("typedef unsigned u32;\n__device__ const u32 ALL = ~0u;\n")
    path = tmp_path / "kernels.cu"
    path.write_text("""
        #include "types.cuh"
        constexpr unsigned long long BIG = 1ull << 40, OTHER = 3;
        static constexpr int HEX = 0x1Fu;
        const u32 QUEUE = 2'048, HALF = (QUEUE + 1) / 2;
        const u32 UNKNOWN = sizeof(int), TOO_LARGE = 1 << (1 << 62), IMPOSSIBLE = 1 << -1;
        const float RATIO = 0.5f;
        enum { NAMED = 1 };
    """)
    constants = {"ALL": 2**32 - 1, "BIG": 2**40, "OTHER": 3, "HEX": 31, "QUEUE": 2048, "HALF": 1024}
    assert read_source(path).constants == constants


def test_includes_are_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "types.cuh").write_text("#pragma once\ntypedef unsigned char u8;\n")
    (tmp_path / "base.cu").write_text('#include "types.cuh"\nextern "C" __global__ void base(u8* x) {}\n')
    (tmp_path / "main.cu").write_text('#include "base.cu"\n#include <missing.h>\n#include "main.cu"\n')
    source = read_source(tmp_path / "main.cu", [tmp_path / "elsewhere"])
    assert source.exported() == ["base"]
    assert source.parameters("base")[0].dtype == np.uint8
    assert len(source.files) == 3


@pytest.fixture
def check(tmp_path):
    text = """
        struct Arc { int target; float weight; };
        extern "C" __global__ void k(unsigned n, const int* in, float* out, bool yes, Arc arc) {}
    """
    return Arguments("k", parameters(tmp_path, text), np.ndarray).pack


ARC = np.array((1, 2.0), np.dtype([("target", "i4"), ("weight", "f4")]))[()]


def good():
    return [np.uint32(1), np.zeros(3, np.int32), np.zeros(3, np.float32), np.bool_(True), ARC]


def test_fitting_arguments_pass(check):
    check(good())
    check([np.uintc(1), None, np.zeros(3, np.dtype("<f4")), np.bool_(False), ARC])


@pytest.mark.parametrize(
    ("position", "wrong", "complaint"),
    [
        (0, 1, "wanted a NumPy scalar numpy.uint32, given the int 1"),
        (0, np.int32(1), "given the numpy.int32"),
        (0, np.zeros(1, np.uint32), "given a numpy.ndarray of uint32"),
        (1, np.int32(1), "wanted a contiguous int32 device array or None, given the numpy.int32"),
        (1, [1, 2], "given the list"),
        (1, np.zeros(3, ">i4"), "given an array of >i4"),
        (2, np.zeros(6, np.float32)[::2], "not contiguous"),
        (3, True, "wanted a NumPy scalar numpy.bool, given the bool True"),
        (4, np.int64(1), "wanted a mapping of the members of Arc, given the numpy.int64"),
    ],
)
def test_misfits_are_named(check, position, wrong, complaint):
    arguments = good()
    arguments[position] = wrong
    with pytest.raises(TypeError) as error:
        check(arguments)
    assert f"kernel k, argument {position + 1} (" in str(error.value)
    assert complaint in str(error.value)


def test_read_only_arrays(check):
    arguments = good()
    arguments[1].setflags(write=False)
    check(arguments)
    arguments[2].setflags(write=False)
    with pytest.raises(TypeError, match=r"argument 3 \(float\* out\).*given a read-only array"):
        check(arguments)
