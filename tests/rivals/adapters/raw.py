"""The protocol by hand, so that a test can break it: over the standard output itself, reply by reply."""

import os
import sys
import time
from pathlib import Path

from honest import Honest
from rival import Graph


def write(text):
    """Write to the standard output, past all buffers."""
    data = text if isinstance(text, bytes) else text.encode()
    while data:
        data = data[os.write(1, data) :]


def write_answer(columns, folder):
    """Write the arrays of an answer."""
    for name, values in columns.items():
        values.tofile(folder / f"{name}.{values.dtype.kind}{8 * values.itemsize}")


def talk(rival=Honest, **replies):
    """Answer messages as `rival.serve` does; a reply, or a function that makes it, may replace the usual one.

    The keys are `loaded`, `ready`, `done`, `given` and `pong`. A function gets the rival, and the folder of
    the answer or the source. Its return value is written unchanged; None writes nothing.
    """

    def reply(word, usual, argument=None):
        text = replies.get(word, usual)
        text = text(mine, argument) if callable(text) else text
        if text is not None:
            write(text)

    mine = rival(Graph(Path(sys.argv[1])), sys.argv[2], dict(one.split("=", 1) for one in sys.argv[3:]))
    reply("loaded", "loaded 1\n")
    reply("ready", "ready 1 version=1\n")
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "solve":
            begin = time.perf_counter()
            mine.solve(int(rest))
            reply("done", f"done {(time.perf_counter() - begin) * 1e3}\n", int(rest))
        elif word == "give":
            if "given" not in replies:
                write_answer(mine.answer(), Path(rest))
            reply("given", "given\n", Path(rest))
        elif word == "ping":
            reply("pong", "pong\n")
        elif word == "end":
            return
