"""Searches over several MPI ranks: one job per run, with one process and one GPU per rank.

The resource `mpi` is the launcher: `mpirun`, or `srun` if a profile says so. A single rank needs no launcher, and
cluster executors refuse MPI jobs of one task; hence two rules. The outputs are marked `update`, so that Snakemake
keeps the old ones until the job has finished.
"""


include: "distributed_inputs.smk"


rule run_distributed:
    input:
        unpack(distributed_inputs),
    output:
        times=update("results/runs/distributed/{run}/times.parquet"),
        certificates=update("results/runs/distributed/{run}/certificates.parquet"),
        levels=update("results/runs/distributed/{run}/levels.parquet"),
        run=update("results/runs/distributed/{run}/run.json"),
    log:
        "logs/distributed/{run}.log",
    wildcard_constraints:
        run=ON_SEVERAL_RANKS,
    conda:
        "../envs/relaxometer.yaml"
    threads: all_cores
    resources:
        mpi="mpirun",
        tasks=lambda wildcards: distributed_run(wildcards).ranks,
        gpu=distributed_gpus,
        # Tasks are not bound to GPUs: all ranks of a node see all its GPUs, and each takes the one of its number.
        tasks_per_gpu=0,
    params:
        run=of_ranks("run"),
        timing=of_ranks("timing"),
        code=of_ranks("code"),
    script:
        "../scripts/run_distributed.py"


use rule run_distributed as run_on_one_rank with:
    wildcard_constraints:
        run=ON_ONE_RANK,
    resources:
        gpu=distributed_gpus,
