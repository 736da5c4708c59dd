"""Settings of a whole run: one GPU job at a time, wildcards, and the errors of failed jobs."""

# Two jobs on one GPU would disturb each other. `--resources gpu=2` overrides this; other resources on the command
# line do not. With --jobs the cluster assigns its GPUs; as a module, the outer workflow sets the resources.
if workflow.nodes is None and not IS_MODULE:
    workflow.global_resources.setdefault("gpu", 1)


wildcard_constraints:
    graph=NAME,
    variant=NAME,
    # Files of the first round lie in the folder of the run.
    round="[2-9]|[1-9][0-9]+",
    problem="|".join(problem_names()),


def check_start():
    try:
        session.check_places()
        session.check_targets(workflow)
    except UserError as error:
        sys.exit(f"error: {error}")


# Snakemake has no hook for these moments, but writes records, all of which a filter sees.
if workflow.is_main_process and not IS_MODULE:
    when = session.AtStart(check_start, workflow)
    logging.getLogger("snakemake.logging").addFilter(when)


def try_again():
    failures.retry(Path("results"))
    elsewhere = workflow.nodes is not None
    retry_absent(Path("results/rivals"), PLAN.rivals, elsewhere=elsewhere)


def schedule_without_limit():
    """Let Snakemake ask which jobs may start when a job ends, and only then.

    For its limit of jobs per second it asks once more every second for each job that has ended: after a hundred
    jobs that takes a core, also while others are timed.
    """
    if workflow.local_exec:
        workflow.scheduling_settings.max_jobs_per_timespan = None


if workflow.is_main_process and not workflow.output_settings.dryrun:
    for call in (try_again, schedule_without_limit):
        logging.getLogger("snakemake.logging").addFilter(session.AtStart(call))


onstart:
    try:
        session.check_device(workflow, PLAN.origin)
    except UserError as error:
        sys.exit(f"error: {error}")
    try:
        check_folders(Path("results"), ERRORS.parent)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    unchanged.forget()
    session.begin(workflow)
    # atexit runs the last one registered first.
    atexit.register(finish)
    atexit.register(end_session)
    if SCREEN:
        SCREEN.begin()


onsuccess:
    # For Snakemake, a failed download is a result.
    if session.failures():
        sys.exit(1)
    SOURCES.is_done = workflow.local_exec and not workflow.touch
