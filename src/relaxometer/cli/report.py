"""Make ``report.zip`` of what the last run left in ``results``, as ``make report`` does."""

import argparse

from relaxometer.cli._workflow import options as options
from relaxometer.cli._workflow import start


def main(given: argparse.Namespace) -> None:
    start(given.config, "1", "--report", "report.zip")
