"""Every variant and rival of every problem on every graph: one job per round, with all sources inside.

Further rounds are processes of their own, in mirrored order. They are not measured if the first has failed. The
outputs are marked `update`, so that Snakemake keeps the old ones until the job has finished.
"""


rule run_variant:
    input:
        unpack(run_inputs),
    output:
        runs=update("results/runs/{problem}/{graph}/{variant}/runs.parquet"),
        certificates=update(
            "results/runs/{problem}/{graph}/{variant}/certificates.parquet"
        ),
        phases=update("results/runs/{problem}/{graph}/{variant}/phases.parquet"),
        answer=update("results/runs/{problem}/{graph}/{variant}/answer.parquet"),
        context=update("results/runs/{problem}/{graph}/{variant}/context.json"),
    log:
        "logs/{problem}/{graph}/{variant}.log",
    priority: priority_of
    conda:
        "../envs/relaxometer.yaml"
    threads: cores_of
    resources:
        gpu=gpus_of,
    params:
        run=of_run("run"),
        device=PLAN.config.device,
        code=of_run("code"),
    script:
        "../scripts/run_variant.py"


# A local rule, since nodes of a cluster often have no internet.
rule install_rival:
    output:
        "results/rivals/{rival}.json",
    log:
        "logs/rivals/{rival}.log",
    wildcard_constraints:
        rival=pattern_of(PLAN.rivals),
    priority: FIRST
    localrule: True
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=lambda wildcards: PLAN.rivals[wildcards.rival].code,
        # A node of a cluster has its own GPU, CPU and compiler, but often no network.
        elsewhere=workflow.nodes is not None,
    script:
        "../scripts/install_rival.py"


use rule run_variant as run_rival with:
    input:
        unpack(rival_inputs),
    wildcard_constraints:
        variant=pattern_of(RIVAL_NAMES),


use rule run_variant as repeat_run with:
    input:
        unpack(first_round),
        unpack(run_inputs),
    output:
        runs=update(
            "results/runs/{problem}/{graph}/{variant}/rounds/{round}/runs.parquet"
        ),
        certificates=update(
            "results/runs/{problem}/{graph}/{variant}/rounds/{round}/certificates.parquet"
        ),
        context=update(
            "results/runs/{problem}/{graph}/{variant}/rounds/{round}/context.json"
        ),
    log:
        "logs/{problem}/{graph}/{variant}.round-{round}.log",


use rule repeat_run as repeat_rival with:
    input:
        unpack(first_round),
        unpack(rival_inputs),
    wildcard_constraints:
        variant=pattern_of(RIVAL_NAMES),


ruleorder: run_rival > run_variant
ruleorder: repeat_rival > repeat_run
