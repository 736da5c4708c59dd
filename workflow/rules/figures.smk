"""Figures and tables: one rule for each record of the catalogue."""

for exhibit in catalogue.exhibits().values():

    rule:
        name:
            exhibit.rule
        input:
            unpack(
                lambda wildcards, one=exhibit: exhibit_inputs(
                    one, wildcards.get("graph", "")
                )
            ),
        output:
            **{
                name: (
                    report(
                        one.path,
                        category=CHAPTERS.get(one.shown.category, one.shown.category),
                        caption=f"../report/{exhibit.caption(one.shown)}",
                        labels=exhibit.labels(one.shown),
                    )
                    if one.shown
                    else one.path
                )
                for name, one in exhibit.outputs().items()
            },
        log:
            exhibit.log,
        conda:
            "../envs/relaxometer.yaml"
        params:
            exhibit=exhibit.name,
            module=exhibit.module,
            given=lambda wildcards, one=exhibit: one.params(
                PLAN, wildcards.get("graph", "")
            ),
            code=lambda wildcards, one=exhibit: code_hash(
                one.module, without=("plan.models", "plan.plan")
            ),
        script:
            "../scripts/draw_figure.py"
