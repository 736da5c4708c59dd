"""The emulation only: determinism, permuted orders, the build and its cache."""

import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from faults import can_mount, under_faults
from relaxometer.core.errors import UserError
from relaxometer.device import KernelError, get_device, host_build
from relaxometer.device.host_build import rewrite_shared

KERNELS = Path(__file__).parent / "kernels"
PACKAGE_ROOT = Path(host_build.__file__).parents[2]

SIMPLE = """
#include "value.cuh"
extern "C" __global__ void simple(int* out) { out[threadIdx.x] = VALUE; }
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache that holds the compiled emulator and no kernels."""
    folder = tmp_path / "cache"
    folder.mkdir()
    for pattern in ("compiler-*", "guards-*", "scheduler-*"):
        for file in host_build.cache_folder().glob(pattern):
            shutil.copy2(file, folder)
    monkeypatch.setenv("RELAXOMETER_CACHE", str(folder))
    return folder


@pytest.fixture
def simple(tmp_path):
    (tmp_path / "value.cuh").write_text("#define VALUE 1\n")
    (tmp_path / "simple.cu").write_text(SIMPLE)
    return tmp_path / "simple.cu"


def script_of(path):
    """Return the command that runs a kernel in a new process, since a process loads a library once."""
    script = f"""
        from pathlib import Path
        import numpy
        from relaxometer.core.errors import UserError
        from relaxometer.device import get_device
        out = numpy.zeros(4, numpy.int32)
        try:
            get_device("host").module(Path({str(path)!r})).get_function("simple")(1, 4, (out,))
            print(out.tolist())
        except UserError as error:
            print(error)
    """
    return [sys.executable, "-c", textwrap.dedent(script)]


def output_of(command):
    return subprocess.run(command, cwd=PACKAGE_ROOT, capture_output=True, text=True, check=True).stdout


def result_of(path):
    out = np.zeros(4, np.int32)
    get_device("host").module(path).get_function("simple")(1, 4, (out,))
    return out.tolist()


class TestOrder:
    # Which thread first increments the counter shows the order of threads and blocks.
    TICKETS = """
    extern "C" __global__ void tickets(unsigned* counter, unsigned* order)
    {
        order[atomicAdd(counter, 1u)] = blockIdx.x * blockDim.x + threadIdx.x;
    }
    """

    def order(self, path, seed):
        out = np.zeros(256, np.uint32)
        kernel = get_device("host", order_seed=seed).module(path).get_function("tickets")
        kernel(4, 64, (np.zeros(1, np.uint32), out))
        return out

    def test_seed_0_is_ascending_and_others_permute(self, tmp_path):
        path = tmp_path / "tickets.cu"
        path.write_text(self.TICKETS)
        assert (self.order(path, 0) == np.arange(256)).all()
        for seed in (1, 2):
            order = self.order(path, seed)
            assert sorted(order) == list(range(256))
            assert (order != np.arange(256)).any()
            assert (order == self.order(path, seed)).all()
        assert (self.order(path, 1) != self.order(path, 2)).any()


class TestSharedMemory:
    def test_it_starts_as_rubbish_in_every_block(self, host_device, tmp_path):
        (tmp_path / "rubbish.cu").write_text("""
            extern "C" __global__ void rubbish(unsigned* out)
            {
                __shared__ unsigned fixed;
                extern __shared__ unsigned dynamic[];
                out[2 * blockIdx.x] = fixed;
                out[2 * blockIdx.x + 1] = dynamic[0];
                fixed = dynamic[0] = 1;
            }
        """)
        out = np.zeros(6, np.uint32)
        host_device.module(tmp_path / "rubbish.cu").get_function("rubbish")(3, 1, (out,), shared_mem=4)
        assert (out == 0xA5A5A5A5).all()

    @pytest.mark.parametrize(
        "declaration", ["__shared__ int a, b;", "__shared__ int a = 3;", "__shared__ struct { int x; } a;"]
    )
    def test_declarations_beyond_the_emulation_are_refused_with_their_place(self, declaration):
        text = f'# 1 "some.cu"\n\nvoid k()\n{{\n    {declaration}\n}}\n'
        with pytest.raises(KernelError, match=r"some\.cu:4: declare one __shared__ variable"):
            rewrite_shared(text)

    @pytest.mark.parametrize(
        "declaration",
        [
            "extern __shared__ int a[];",
            "__shared__ int a[4];",
            "namespace { namespace x::y { __shared__ int a[4]; } }",
            'extern "C" { __shared__ int a[4]; }',
        ],
    )
    def test_declarations_outside_functions_are_refused_with_their_place(self, declaration):
        text = f'# 1 "some.cu"\nvoid p() {{ print("}}{{{{"); print(\'{{\'); }}\n{declaration}\n'
        with pytest.raises(KernelError, match=r"some\.cu:2: for the emulation, .* inside a function: .* a\["):
            rewrite_shared(text)

    def test_declarations_in_functions_of_namespaces_are_taken(self):
        text = 'namespace x {\nextern "C" void k()\n{\n    __shared__ int a[4];\n}\n}\n'
        assert "__shared__" not in rewrite_shared(text)


class TestCache:
    def test_a_library_is_built_once_for_its_content_and_flags(self, cache, simple):
        for value in (1, 1, 2, 1):
            simple.with_name("value.cuh").write_text(f"#define VALUE {value}\n")
            assert result_of(simple) == [value] * 4
        assert len(list(cache.glob("simple-*.so"))) == 2
        get_device("host").module(simple, options=("-DOTHER",))
        get_device("host", sanitize="undefined").module(simple)
        assert len(list(cache.glob("simple-*.so"))) == 4

    def test_concurrent_builds_do_not_disturb_each_other(self, cache, simple):
        with ThreadPoolExecutor() as pool:
            assert [*pool.map(output_of, [script_of(simple)] * 2)] == [f"{[1] * 4}\n"] * 2
        assert len(list(cache.glob("simple-*.so"))) == 1
        assert not list(cache.glob("building-*"))

    @pytest.mark.parametrize("damage", [b"", b"whol", b"whale", None])
    @pytest.mark.parametrize("suffix", ["", ".sha256"])
    def test_a_damaged_file_or_checksum_leads_to_a_new_build(self, cache, damage, suffix):
        builds = []

        def build(scratch):
            builds.append(scratch)
            (scratch / "library").write_bytes(b"whole")
            return scratch / "library"

        target = host_build.built_once("some.so", build)
        assert target == host_build.built_once("some.so", build)
        assert len(builds) == 1
        damaged = cache / f"some.so{suffix}"
        damaged.unlink() if damage is None else damaged.write_bytes(damage)
        host_build.built_once("some.so", build)
        assert len(builds) == 2
        assert target.read_bytes() == b"whole"
        assert sorted(file.name for file in cache.glob("some*")) == ["some.so", "some.so.sha256"]

    def test_its_folder(self, monkeypatch, tmp_path):
        monkeypatch.delenv("RELAXOMETER_CACHE", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert host_build.cache_folder() == tmp_path / "xdg" / "relaxometer"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert host_build.cache_folder() == tmp_path / "home" / ".cache" / "relaxometer"
        monkeypatch.setenv("RELAXOMETER_CACHE", "/dev/null/cache")
        with pytest.raises(UserError, match="RELAXOMETER_CACHE"):
            host_build.cache_folder()

    @pytest.mark.skipif(not can_mount(), reason="needs user namespaces")
    @pytest.mark.parametrize(
        ("fault", "reason"), [("read_only", "Read-only file system"), ("full", "No space left on device")]
    )
    def test_a_folder_that_cannot_be_written_is_named(self, cache, simple, fault, reason):
        said = output_of(under_faults(script_of(simple), **{fault: [cache]}))
        place = f"cannot write compiled kernels to {cache}: {reason}"
        assert said == f"{place}; set RELAXOMETER_CACHE\n"


class TestCompiler:
    @pytest.mark.skipif(shutil.which("clang++") is None, reason="needs clang++")
    @pytest.mark.parametrize("sanitize", [None, *host_build.SANITIZERS])
    def test_clang_builds_kernels(self, cache, monkeypatch, tmp_path, sanitize):
        device = get_device("host", sanitize=sanitize)
        monkeypatch.setenv("CXX", "clang++")
        (tmp_path / "count.cu").write_text("""
            extern "C" __global__ void count(unsigned n, unsigned* sum, unsigned char* cleared)
            {
                cleared += n * threadIdx.x;
                for (unsigned i = 0; i < n; ++i) cleared[i] = 0;
                atomicAdd(sum, __reduce_add_sync(0xffffffffu, threadIdx.x));
            }
        """)
        total, cleared = np.zeros(1, np.uint32), np.ones(32 * 100, np.uint8)
        kernel = device.module(tmp_path / "count.cu").get_function("count")
        kernel(1, 32, (np.uint32(100), total, cleared))
        assert total[0] == 32 * sum(range(32))
        assert not cleared.any()
        with pytest.raises(KernelError, match=r"count\.cu:\d+: .*illegal write to cleared"):
            kernel(1, 32, (np.uint32(101), total, cleared))

    @pytest.mark.parametrize(
        ("command", "reason"),
        [
            (None, r"no C\+\+ compiler.*(g\+\+|gcc|xcode-select)"),
            ("no-such-compiler -m64", r"^\$CXX names 'no-such-compiler -m64', which is missing: "),
            ("'a", r"^\$CXX is \"'a\", which is not a command: No "),
        ],
    )
    def test_one_that_is_missing_is_one_line(self, monkeypatch, tmp_path, command, reason):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)
        if command:
            monkeypatch.setenv("CXX", command)
        with pytest.raises(UserError, match=reason) as error:
            host_build.find_compiler()
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize(
        ("program", "reason"),
        [
            (b"no program", "cannot be run: Exec format error"),
            (b"#!/bin/sh\nprintf 'no\\033 such option\\nat all\\n' >&2; exit 1\n", r"'no\x1b such option'"),
        ],
    )
    def test_a_program_that_is_no_compiler_is_one_line(self, monkeypatch, tmp_path, program, reason):
        path = tmp_path / "compiler"
        path.write_bytes(program)
        path.chmod(0o755)
        monkeypatch.setenv("CXX", f"'{path}'")
        with pytest.raises(UserError) as error:
            host_build.find_compiler()
        assert reason in str(error.value)
        assert "($CXX)" in str(error.value)
        assert str(error.value).isprintable()

    @pytest.mark.usefixtures("cache")
    def test_a_compiler_that_writes_nothing_is_one_line(self, monkeypatch, simple):
        monkeypatch.setenv("CXX", "true")
        with pytest.raises(UserError, match=r"'true' \(\$CXX\) compiles nothing; install one"):
            result_of(simple)

    def test_short_names_of_the_c_library_are_free(self, host_device, tmp_path):
        kernels = (
            f'extern "C" __global__ void {name}() {{}}\n' for name in ("select", "index", "y1", "link")
        )
        (tmp_path / "names.cu").write_text("".join(kernels))
        host_device.module(tmp_path / "names.cu").get_function("select")(1, 1, ())

    @pytest.mark.parametrize(
        "statement",
        [
            "long long x = 0; atomicAdd(&x, 1ll);",
            "out[0] = __activemask();",
            'asm("mov.u32 %0, %%laneid;" : "=r"(out[0]));',
        ],
    )
    def test_what_is_not_emulated_does_not_compile(self, host_device, tmp_path, statement):
        (tmp_path / "odd.cu").write_text(f'extern "C" __global__ void odd(int* out) {{ {statement} }}\n')
        with pytest.raises(
            KernelError, match=r"odd\.cu does not compile for the host: odd\.cu:1:.*[Ee]rror: "
        ):
            host_device.module(tmp_path / "odd.cu")


class TestDevice:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"kind": "gpu"}, "unknown device 'gpu'; known: auto, cuda, host"),
            ({"sanitize": "memory"}, "unknown sanitizer 'memory'; known: undefined, address, thread"),
            ({"order_seed": -1}, "order_seed"),
        ],
    )
    def test_unknown_devices_are_refused(self, given, message):
        with pytest.raises(UserError, match=message):
            get_device(**{"kind": "host"} | given)

    def test_importing_the_package_loads_neither_cupy_nor_a_compiler(self):
        script = "import sys, relaxometer.device; sys.exit('cupy' in sys.modules or 'numpy' in sys.modules)"
        subprocess.run([sys.executable, "-c", script], check=True, cwd=PACKAGE_ROOT)


class TestRedZones:
    def test_little_address_space_gives_arrays_without_them(self):
        """The run goes on, its context says so, and sanitizers refuse to find nothing."""
        script = textwrap.dedent(f"""
            import resource
            resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))
            from pathlib import Path
            import numpy as np
            from relaxometer.core.errors import UserError
            from relaxometer.device import get_device
            device, out = get_device("host"), np.zeros(256, np.uint32)
            kernel = device.module(Path({str(KERNELS / "broken.cu")!r})).get_function("no_race")
            kernel(1, 256, (out.view(np.int32),))
            assert out[200] == 55 and not device.context()["red_zones"]
            try:
                get_device("host", sanitize="thread")
            except UserError as error:
                print(error)
        """)
        result = subprocess.run(
            [sys.executable, "-c", script], cwd=PACKAGE_ROOT, capture_output=True, text=True
        )
        assert "needs 256 GiB of address space" in result.stdout, result.stderr

    def test_arrays_of_numpy_have_them(self, host_device):
        assert host_device.context()["red_zones"]
        for array in (
            np.zeros(3, np.uint8),
            np.arange(1024),
            np.ones(5) + 1,
            np.array([1, 2]).astype(np.int16),
        ):
            assert np._core.multiarray.get_handler_name(array) == "relaxometer_red_zones"
            assert (array.ctypes.data + array.nbytes) % 4096 == 0 or array.nbytes % 16 != 0
            array.resize(2 * array.size, refcheck=False)
            assert not array[array.size // 2 :].any()
