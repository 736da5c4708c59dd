"""Studies: throughput, new weights, all pairs, updates of dominators, retained sizes, ExtractMin and the copy rate."""


def study_inputs(name, wildcards):
    """Return the graph of a study, if it has one, and the installations of its rivals."""
    inputs = {}
    if "graph" in wildcards.keys():
        inputs["graph"] = graph_files(wildcards.graph)
    if name == "traffic":
        inputs["installed"] = [
            f"results/rivals/{run.solver}.json"
            for run in PLAN.traffic_rivals
            if not run.command
        ]
    return inputs


for study_name, study in STUDIES.items():

    rule:
        name:
            f"measure_{study_name}"
        input:
            unpack(lambda wildcards, name=study_name: study_inputs(name, wildcards)),
        output:
            [update(path) for path in study.paths],
        log:
            (
                f"logs/{study_name}/{{graph}}.log"
                if "{graph}" in study.path
                else f"logs/measure_{study_name}.log"
            ),
        conda:
            "../envs/relaxometer.yaml"
        threads: all_cores
        resources:
            gpu=1,
        params:
            **parameters.of_study(PLAN, study_name),
        script:
            "../scripts/run_study.py"
