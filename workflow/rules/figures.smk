"""Figures and tables: one rule for each drawing of the catalogue."""

for drawing in catalogue.drawings(PLAN):

    rule:
        name:
            drawing.rule
        input:
            unpack(
                lambda wildcards, one=drawing: drawing_inputs(
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
                for exhibit, name, one in drawing.outputs()
            },
        log:
            drawing.log,
        conda:
            "../envs/relaxometer.yaml"
        params:
            modules=drawing.modules,
            given=lambda wildcards, one=drawing: one.params(
                PLAN, wildcards.get("graph", "")
            ),
            code=lambda wildcards, one=drawing: code_hash(
                *one.modules.values(), without=("plan.models", "plan.plan")
            ),
        script:
            "../scripts/draw_figure.py"
