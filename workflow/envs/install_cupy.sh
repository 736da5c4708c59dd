#!/bin/sh
# Install the CuPy that fits the NVIDIA driver of this machine; without a driver there is nothing to do.
# usage: install_cupy.sh PYTHON
set -eu
python=$1
if ! command -v nvidia-smi > /dev/null; then
    echo "no NVIDIA driver found: kernels will run on the CPU emulation"
    exit 0
fi
if "$python" -c 'import cupy, pynvml' 2> /dev/null; then
    exit 0
fi
major=$(nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p' | head -n 1)
case "$major" in
    12 | 13) extra=cuda$major ;;
    *)
        echo "error: the NVIDIA driver reports CUDA ${major:-unknown}; CuPy needs CUDA 12 or 13: update the driver" >&2
        exit 1
        ;;
esac
echo "NVIDIA driver with CUDA $major found: installing CuPy"
"$python" - "$extra" << 'END' | xargs "$python" -m pip install --disable-pip-version-check --quiet --quiet --progress-bar off
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"][sys.argv[1]])
END
