"""What holds for a whole run: one GPU at a time, names, and the line of a failed job."""


# The nodes of a cluster often have no internet.
localrules:
    download_file,


# Two timed jobs on one GPU would disturb each other. The default holds whatever the command line says about
# other resources; `--resources gpu=2` still wins. Where jobs go to nodes (--jobs), the cluster hands out its GPUs.
if workflow.nodes is None:
    workflow.global_resources.setdefault("gpu", 1)


wildcard_constraints:
    graph="[a-z0-9][a-z0-9-]*",
    variant="[a-z0-9][a-z0-9-]*",
    problem="|".join(problem_names()),


onstart:
    ERRORS.unlink(missing_ok=True)


onerror:
    if ERRORS.is_file():
        print(ERRORS.read_text(encoding="utf-8"), end="", file=sys.stderr)
