# Relaxometer without a GPU, or with one by --gpus all and EXTRA=cuda13:
#   docker build -t relaxometer .                          # or --build-arg EXTRA=cuda13
#   docker run --rm -v "$PWD/results:/relaxometer/results" -v "$PWD/logs:/relaxometer/logs" \
#       -v "$PWD/.snakemake:/relaxometer/.snakemake" relaxometer make run
FROM python:3.12-slim-bookworm

# g++ compiles kernels and rivals; Boost and LLVM are for the rivals in C++.
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ make libboost-graph-dev llvm-dev \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /relaxometer

# The environment first, so that an edit of the code does not install it anew.
COPY Makefile pyproject.toml requirements.lock README.md LICENSE ./
COPY src/relaxometer/__init__.py src/relaxometer/
COPY workflow/envs workflow/envs
ARG EXTRA=
RUN make .venv/ready \
    && if [ -n "$EXTRA" ]; then \
        .venv/bin/python -c 'import sys, tomllib; \
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"][sys.argv[1]])' "$EXTRA" \
        | xargs .venv/bin/python -m pip install --no-cache-dir; \
    fi

COPY . .
# The copied files may be newer than the environment, which make would then set up again.
RUN touch .venv/ready

# The commit of the checkout, which the image does not hold: --build-arg COMMIT=$(git rev-parse --short=12 HEAD)
ARG COMMIT=unknown
ENV RELAXOMETER_COMMIT=$COMMIT

CMD ["make", "run"]
