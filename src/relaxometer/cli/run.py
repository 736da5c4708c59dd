"""Run the workflow, or that of a suite or of a configuration of your own, as ``make run`` does."""

import argparse

from relaxometer.cli._workflow import options as options
from relaxometer.cli._workflow import start


def main(given: argparse.Namespace) -> None:
    start(given.config, "all", "--", "all")
