#!/bin/sh
# Install what a lock file or another argument of `pip install` names, and nothing that it depends on: with uv, which
# takes seconds, or with pip where uv cannot be had.
# usage: install.sh PYTHON [--into OTHER] ARGUMENT...
# With --into, the uv or pip of PYTHON installs into the environment of the Python OTHER.
set -eu
python=$1
shift
target=$python
if [ "$1" = --into ]; then
    target=$2
    shift 2
fi
pip="$python -m pip --disable-pip-version-check"
if ! "$python" -m uv --version > /dev/null 2>&1; then
    $pip install --no-deps --require-hashes --quiet --quiet --only-binary :all: -r workflow/envs/uv.lock || true
fi
if "$python" -m uv --version > /dev/null 2>&1; then
    # uv does not read the settings of pip, which may name another index.
    index=${PIP_INDEX_URL:-$($pip config get global.index-url 2> /dev/null || true)}
    if [ -n "$index" ] && [ -z "${UV_DEFAULT_INDEX:-}" ]; then
        export UV_DEFAULT_INDEX="$index"
    fi
    if "$python" -m uv pip install --python "$target" --no-deps --quiet --quiet "$@"; then
        exit 0
    fi
fi
$pip --python "$target" install --no-deps --quiet --quiet "$@"
