"""Dijkstra's algorithm with Python's heap, and the protocol by hand: no package and no helper."""

import heapq
import platform
import sys
import time
from array import array
from pathlib import Path

INT64, UINT32, NONE = "q", "I", 2**32 - 1


def say(*words):
    print(*words, flush=True)


def ms_since(begin):
    return (time.perf_counter() - begin) * 1e3


def read(path, kind):
    values = array(kind)
    values.frombytes(path.read_bytes())
    return values


def search(offsets, targets, weights, source):
    n = len(offsets) - 1
    distance, predecessor = array(INT64, [-1]) * n, array(UINT32, [NONE]) * n
    heap = [(0, source, source)]
    while heap:
        length, vertex, before = heapq.heappop(heap)
        if distance[vertex] >= 0:
            continue
        distance[vertex], predecessor[vertex] = length, before
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            heapq.heappush(heap, (length + weights[arc], targets[arc], vertex))
    return distance, predecessor


def main():
    begin = time.perf_counter()
    folder = Path(sys.argv[1])
    arcs = read(folder / "offsets.i64", INT64), read(folder / "targets.u32", UINT32)
    weights = read(folder / "weights.u32", UINT32)
    say("loaded", ms_since(begin))
    say("ready", 0, f"version={platform.python_version()}")
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "solve":
            begin = time.perf_counter()
            distance, predecessor = search(*arcs, weights, int(rest))
            say("done", ms_since(begin))
        elif word == "give":
            Path(rest, "distance.i64").write_bytes(distance.tobytes())
            Path(rest, "predecessor.u32").write_bytes(predecessor.tobytes())
            say("given")
        elif word == "weights":
            taken = read(Path(rest), UINT32)
            say("taken")
        elif word == "customize":
            begin, weights = time.perf_counter(), taken
            say("customized", ms_since(begin))
        elif word == "ping":
            say("pong")
        elif word == "end":
            break


main()
