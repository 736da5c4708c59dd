"""The command ``relaxometer``: every program of the package under one name.

A program is a module of this folder: `options` adds its options to a parser, and `main` takes what was parsed
and returns the exit code, if not 0.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from relaxometer.core.errors import UserError, naming_lacks
from relaxometer.core.scripting import end
from relaxometer.core.validation import suggestion

GROUPS = {
    "use a kernel": {
        "pick": "race what suits your graph on this machine, and show how to use the winner",
        "solve": "search a graph from one vertex, prove the answer, and write it",
        "heap": "the objects of a heap snapshot that keep most memory alive",
    },
    "run the race": {
        "run": "the whole workflow, or that of a suite",
        "report": "report.zip of the last run",
        "all-runs": "the timed runs of a suite in one process",
        "compare": "two runs; exit code 3 if one got slower",
        "cost": "energy and memory of a run",
        "aa": "whether runs of one program are told apart",
    },
    "share results": {
        "bundle": "a run in one file",
        "verify": "a bundle: every byte, and the proofs of its answers",
        "board": "bundles of several machines on one page",
        "history": "times over commits from a folder of bundles",
    },
    "maintain": {
        "publish": "copy what a suite showed to docs/results",
        "pages": "the pages of docs/results from their data",
        "headline": "the figures of docs/results from their tables",
        "parameter-tables": "the tables of config/*.md",
        "export-batch": "flow graphs for the driver of libreldom",
    },
}

COMMANDS = [name for group in GROUPS.values() for name in group]

SEARCHED = ("sssp", "bfs", "dominators")
"""The problems whose searches start from a source."""


def usage() -> str:
    """Return the help of the command."""
    lines = ["usage: relaxometer COMMAND ...", "", "Race GPU graph programs, and use the fastest."]
    for title, group in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:<18}{said}" for name, said in group.items())]
    return "\n".join([*lines, "", "relaxometer COMMAND --help lists the options of a command."])


def call(arguments: list[str]) -> int:
    """Run a command in this process; return its exit code, or raise SystemExit with one line."""
    name, *others = arguments or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name not in COMMANDS:
        hint = suggestion(name, COMMANDS, "relaxometer --help lists them")
        raise SystemExit(f"error: unknown command {name!r}{hint}")
    try:
        program = import_module(f"relaxometer.cli.{name.replace('-', '_')}")
    except ModuleNotFoundError as error:
        lack = f"{name} needs the package {error.name}"
        raise SystemExit(f"error: {lack}; pip install '.[workflow]' brings all") from None
    parser = _Parser(prog=f"relaxometer {name}", description=program.__doc__)
    program.options(parser)
    given = parser.parse_args(others)
    try:
        with naming_lacks():
            return program.main(given) or 0
    except UserError as error:
        raise SystemExit(f"error: {error}") from None


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; {self.prog} --help lists the options\n")


WEIGHT = "column, or attribute of edges, that holds the weights; values: those of an edge list or a matrix"


def graph_options(
    parser: argparse.ArgumentParser,
    problems: Sequence[str] = SEARCHED,
    file: str = "a graph: DIMACS, Matrix Market, OpenStreetMap, ...",
) -> None:
    """Add the options that name a graph's file, and what to search it for, where."""
    parser.add_argument("file", help=file)
    parser.add_argument("--format", help="format of the file, if its name does not say")
    parser.set_defaults(weight=None, problem=None)
    if problems:
        parser.add_argument("--weight", help=WEIGHT)
        parser.add_argument("--problem", choices=problems, default="sssp", help="default: sssp")
    parser.add_argument(
        "--device",
        choices=("auto", "cuda", "cpu", "host"),
        default="auto",
        help="where to search; host emulates the kernels of the GPU; default: auto, a GPU if there is one",
    )


def positive(text: str) -> int:
    """Read an integer of at least 1, as the type of an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 1")
    return int(text)


def main(*before: str) -> NoReturn:
    """Run what the command line names, after the words `before`, and end the process."""
    try:
        code = call([*before, *sys.argv[1:]])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    except SystemExit as stop:
        is_line = isinstance(stop.code, str)
        if is_line:
            print(stop.code, file=sys.stderr)
        code = 1 if is_line else int(stop.code or 0)
    end(code)


# Child processes of a reader import this module again.
if __name__ == "__main__":
    main()
