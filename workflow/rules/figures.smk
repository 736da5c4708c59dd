"""Figures and tables: one rule for each record of the catalogue."""

for exhibit in catalogue.exhibits().values():

    rule:
        name:
            exhibit.rule
        input:
            unpack(
                lambda wildcards, one=exhibit: one.inputs(
                    PLAN, wildcards.get("graph", "")
                )
            ),
        output:
            **{
                view.name: (
                    report(
                        exhibit.path(view),
                        category=view.category,
                        caption=f"../report/{exhibit.caption(view)}",
                        labels=exhibit.labels(view),
                    )
                    if view.category
                    else exhibit.path(view)
                )
                for view in exhibit.views
            },
        log:
            exhibit.log,
        conda:
            "../envs/relaxometer.yaml"
        params:
            exhibit=exhibit.name,
            given=lambda wildcards, one=exhibit: one.params(
                PLAN, wildcards.get("graph", "")
            ),
            code=lambda wildcards, one=exhibit: code_hash(
                one.module, without=("plan.models", "plan.plan")
            ),
        script:
            "../scripts/draw_figure.py"
