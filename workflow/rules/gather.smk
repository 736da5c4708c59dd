"""Gather the results of all runs: tables, verdicts, claims and provenance."""

RUN_FOLDERS = [run.folder() for run in PLAN.runs.values()]
ROUND_FOLDERS = [
    run.folder(number) for run in PLAN.runs.values() for number in PLAN.rounds(run)
]


rule gather_timings:
    input:
        runs=expand("{folder}/runs.parquet", folder=ROUND_FOLDERS),
        certificates=expand("{folder}/certificates.parquet", folder=ROUND_FOLDERS),
        contexts=expand("{folder}/context.json", folder=ROUND_FOLDERS),
        graphs=expand("results/graphs/{graph}/graph.json", graph=PLAN.graphs),
    output:
        timings="results/timings.parquet",
        certificates="results/certificates.parquet",
        summary="results/summary.csv",
    log:
        "logs/gather_timings.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        rivals={
            run.variant: run.kind
            for run in PLAN.runs.values()
            if isinstance(run, RivalRun)
        },
        code=code_hash("results.gather"),
    script:
        "../scripts/gather_timings.py"


rule gather_distributed:
    input:
        runs=expand("results/runs/distributed/{run}/run.json", run=PLAN.distributed),
        times=expand(
            "results/runs/distributed/{run}/times.parquet", run=PLAN.distributed
        ),
    output:
        "results/distributed.csv",
    log:
        "logs/gather_distributed.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        runs=[run.model_dump() for run in PLAN.distributed.values()],
        code=code_hash("results.scaling"),
    script:
        "../scripts/gather_distributed.py"


rule judge_answers:
    input:
        unpack(judged_studies),
        summary="results/summary.csv",
        contexts=expand("{folder}/context.json", folder=ROUND_FOLDERS),
    output:
        "results/verdict.txt",
    log:
        "logs/judge_answers.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("results.verdict"),
    script:
        "../scripts/judge_answers.py"


use rule judge_answers as judge_distributed with:
    input:
        summary="results/distributed.csv",
        contexts=[],
    output:
        "results/distributed_verdict.txt",
    log:
        "logs/judge_distributed.log",
    params:
        code=code_hash("results.verdict"),


rule accept_answers:
    input:
        "results/{verdict}.txt",
    output:
        touch("results/{verdict}.accepted"),
    log:
        "logs/accept_answers/{verdict}.log",
    wildcard_constraints:
        verdict="verdict|distributed_verdict",
    conda:
        "../envs/relaxometer.yaml"
    script:
        "../scripts/judge_answers.py"


rule compare_claims:
    input:
        claims=papers.claims(PLAN.config.report.papers, ROOT / "resources/claims"),
        timings="results/timings.parquet",
        phases=expand("{folder}/phases.parquet", folder=RUN_FOLDERS),
        contexts=expand("{folder}/context.json", folder=RUN_FOLDERS),
        graphs=expand("results/graphs/{graph}/graph.json", graph=PLAN.graphs),
        extract_min=targets.extract_min(PLAN),
        ranks=expand("results/runs/distributed/{run}/run.json", run=PLAN.distributed),
        times=expand(
            "results/runs/distributed/{run}/times.parquet", run=PLAN.distributed
        ),
    output:
        parquet="results/claims.parquet",
        csv="results/claims.csv",
        table="results/tables/common/claims.csv",
    log:
        "logs/compare_claims.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        swept=catalogue.swept(PLAN),
        ranks=[run.model_dump() for run in PLAN.distributed.values()],
        code=code_hash("results.claims", "results.scaling"),
    script:
        "../scripts/compare_claims.py"


rule merge_contexts:
    input:
        expand("{folder}/context.json", folder=ROUND_FOLDERS),
    output:
        context=report(
            "results/context.json",
            category=CHAPTERS["Provenance"],
            caption="../report/common/provenance.rst",
            labels={"what": "all runs, as JSON"},
        ),
        page=report(
            "results/pages/provenance.html",
            category=CHAPTERS["Provenance"],
            caption="../report/common/provenance.rst",
            labels={"what": "all runs, as a page"},
        ),
        machine="results/tables/common/machine.csv",
    log:
        "logs/merge_contexts.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        config=PLAN.config.model_dump(),
        rivals={
            run.solver: PLAN.rivals[run.solver].credits
            for run in [*PLAN.runs.values(), *PLAN.traffic_rivals]
            if isinstance(run, RivalRun)
        },
        code=code_hash("results.contexts", "report.provenance"),
    script:
        "../scripts/merge_contexts.py"
