"""The command ``relaxometer``: the programs of the package under one name."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = {
    "pick": ("cli.pick", "race what suits a graph on this machine, and show how to use the winner"),
    "solve": ("cli.solve", "search a graph from one source, prove the answer, and write it"),
    "all-runs": ("cli.all_runs", "the timed runs of a configuration in one process"),
    "compare": ("cli.compare", "two results of the workflow; exit code 3 if a run got slower"),
    "bundle": ("cli.bundle", "results of the workflow in one file"),
    "verify": ("cli.verify", "a bundle: every byte, and the proofs of its answers"),
    "board": ("cli.board", "bundles of several machines on one page"),
    "history": ("cli.history", "times over commits from the bundles in a folder"),
}
"""Module and description of each command."""


def main() -> None:
    """Run the command that the command line names."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in COMMANDS:
        del sys.argv[1]
        import_module(f"relaxometer.{COMMANDS[name][0]}").main()
        return
    lines = [f"  {one:<10}{said}" for one, (_, said) in COMMANDS.items()]
    text = "\n".join(["usage: relaxometer COMMAND ...", *lines, "relaxometer COMMAND --help says more"])
    if name in ("-h", "--help"):
        print(text)
        return
    sys.exit(f"error: unknown command {name!r}\n{text}")
