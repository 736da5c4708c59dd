"""Settings of a whole run: one GPU job at a time, wildcards, and the errors of failed jobs."""


# The nodes of a cluster often have no internet.
localrules:
    download_file,


# Two timed jobs on one GPU would disturb each other. `--resources gpu=2` overrides this; other resources on the
# command line do not. With --jobs the cluster assigns its GPUs.
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
