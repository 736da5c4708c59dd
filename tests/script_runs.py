"""Runs a script of the workflow in this process, without Snakemake."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SCRIPTS = Path(__file__).parents[1] / "workflow/scripts"


class Outputs(list[str]):
    """Files of a rule, by position and by name."""

    def __init__(self, **named: Any) -> None:
        super().__init__(named.values())
        self.__dict__ = named

    def items(self) -> Any:
        """Return names and files."""
        return self.__dict__.items()

    def get(self, name: str, default: Any = None) -> Any:
        """Return the file of a name."""
        return self.__dict__.get(name, default)


def run_script(
    name: str,
    *,
    log: Path,
    inputs: dict[str, Any],
    outputs: dict[str, Any],
    resources: dict[str, int] | None = None,
    **params: Any,
) -> None:
    """Run ``workflow/scripts/{name}.py`` as a job; SystemExit if it fails."""
    snakemake = SimpleNamespace(
        rule=name,
        log=[str(log)],
        input=Outputs(**inputs),
        output=Outputs(**outputs),
        params=SimpleNamespace(**params),
        wildcards=Outputs(),
        config={},
        resources=resources or {},
    )
    runpy.run_path(str(SCRIPTS / f"{name}.py"), init_globals={"snakemake": snakemake}, run_name="__main__")
