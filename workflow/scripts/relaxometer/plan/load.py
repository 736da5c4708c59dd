"""Reads the configuration without Snakemake, as Snakemake's ``--configfile`` does."""

from __future__ import annotations

from pathlib import Path

import yaml
from snakemake.utils import update_config

from relaxometer.core.errors import UserError
from relaxometer.plan.plan import Plan


def load_plan(overlays: list[Path]) -> Plan:
    """Return the plan of ``config/config.yaml`` and overlays, of which later ones win.

    Raises
    ------
    UserError
        If a file cannot be read, is not YAML, or is not a valid configuration.
    """
    config: dict[str, object] = {}
    for path in [Path("config/config.yaml"), *overlays]:
        try:
            keys = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark = getattr(error, "problem_mark", None)
            where = f"{path}:{mark.line + 1}" if mark else f"{path}"
            raise UserError(f"{where}: invalid YAML: {getattr(error, 'problem', None) or error}") from None
        if not isinstance(keys, dict | None):
            raise UserError(f"{path}: expected keys and values, found {keys!r:.60}")
        update_config(config, keys or {})
    origin = " + ".join(["config/config.yaml", *map(str, overlays)])
    return Plan(config, Path("resources/datasets.yaml"), origin)
