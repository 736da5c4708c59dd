"""Reads the configuration as Snakemake's ``--configfile`` and ``--config`` do."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from snakemake.utils import update_config

from relaxometer.core.checkout import ROOT
from relaxometer.core.yaml_files import read_sections
from relaxometer.device.cuda import may_be_there
from relaxometer.plan.plan import Plan


def load_plan(overlays: list[Path]) -> Plan:
    """Return the plan of ``config/config.yaml`` and overlays, of which later ones win.

    As in the workflow, a current folder without that file has the one of the checkout. UserError if a file
    cannot be read, is not YAML, or is not a valid configuration.
    """
    config: dict[str, object] = {}
    files = [_here_or_in_checkout("config/config.yaml"), *overlays]
    for path in files:
        update_config(config, read_sections(path))
    origin = " + ".join(map(str, files))
    return Plan(config, _here_or_in_checkout("resources/datasets.yaml"), origin, gpu=may_be_there())


def _here_or_in_checkout(path: str) -> Path:
    here = Path(path)
    return here if here.exists() else ROOT / path


def with_types(value: Any) -> Any:
    """Return a value of ``--config`` with typed numbers; Snakemake reads those in sections as text."""
    if isinstance(value, Mapping):
        return {key: _typed(inner) for key, inner in value.items()}
    return [_typed(inner) for inner in value] if isinstance(value, list) else value


def _typed(value: Any) -> Any:
    if not isinstance(value, str):
        return with_types(value)
    try:
        typed = yaml.safe_load(value)
    except (yaml.YAMLError, ValueError):
        return value
    return typed if isinstance(typed, bool | int | float | None) else value
