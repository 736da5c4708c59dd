#!/bin/sh
# Install mpi4py, the extra `mpi`, where an MPI launcher is; without one there is nothing to do.
# usage: install_mpi4py.sh PYTHON
set -eu
python=$1
if ! command -v mpirun > /dev/null; then
    echo "no mpirun found: searches over several ranks will not run"
    exit 0
fi
"$python" - << 'END' | xargs "$python" -m pip install --disable-pip-version-check --quiet --quiet --progress-bar off
import tomllib

with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"]["mpi"])
END
