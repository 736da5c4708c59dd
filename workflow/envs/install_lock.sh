#!/bin/sh
# Install the packages of a lock file: with uv, which takes seconds, or with pip where uv cannot be had.
# usage: install_lock.sh PYTHON LOCK
set -eu
python=$1
lock=$2
options="--no-deps --require-hashes --quiet --quiet"
pip="$python -m pip --disable-pip-version-check"
if ! "$python" -m uv --version > /dev/null 2>&1; then
    $pip install $options --only-binary :all: -r workflow/envs/uv.lock || true
fi
if "$python" -m uv --version > /dev/null 2>&1; then
    # uv does not read the settings of pip, which may name another index.
    index=${PIP_INDEX_URL:-$($pip config get global.index-url 2> /dev/null || true)}
    if [ -n "$index" ] && [ -z "${UV_DEFAULT_INDEX:-}" ]; then
        export UV_DEFAULT_INDEX="$index"
    fi
    if "$python" -m uv pip install --python "$python" $options -r "$lock"; then
        exit 0
    fi
fi
$pip install $options -r "$lock"
