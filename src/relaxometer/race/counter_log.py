"""Logs a device's counters in a process of its own, at each step of the energy counter.

Reading NVML's counters takes milliseconds, in which the process that searches would leave the GPU idle. Both
processes have one monotonic clock.

    python -m relaxometer.race.counter_log PARENT nvml 0000:1b:00.0
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

from relaxometer.device.counters import Meter, Reading, open_named

READ_EVERY_S = 0.02
"""Pause between two readings of the energy counter: constant, so that reading costs each interval the same
power and core time; long, since some variants use all cores."""

START_S = 0.001  # pause between two checks that the log has begun


class CounterLog:
    """The readings of a device's counters from entering to leaving the context, by another process."""

    def __init__(self, meter: Meter) -> None:
        self._arguments = meter.arguments()

    def __enter__(self) -> Self:
        self._file = tempfile.NamedTemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(os.getpid()), *self._arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._file,
        )
        # Until the log has its first line, or its process ends without one.
        while not os.fstat(self._file.fileno()).st_size and self._process.poll() is None:
            time.sleep(START_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._file.close()

    def readings(self) -> list[Reading]:
        """Return all readings until now; their energy is as of their time."""
        # By another descriptor: two processes that share one share its position.
        lines = Path(self._file.name).read_text(encoding="ascii").split("\n")
        return [Reading(**json.loads(line)) for line in lines[:-1]]  # the last may be incomplete


def log(meter: Meter, parent: int) -> None:
    """Write a line at once and for each step of the energy counter, until the parent process ends."""
    last = None
    while os.getppid() == parent:
        joules, now = meter.joules(), time.perf_counter()
        if joules != last:
            reading = dataclasses.replace(meter.read(), seconds=now, joules=joules)
            print(json.dumps(dataclasses.asdict(reading)), flush=True)
            last = joules
        time.sleep(READ_EVERY_S)


def main() -> None:
    """Log the counters that the command line names."""
    parent, *arguments = sys.argv[1:]
    meter = open_named(*arguments)
    if meter is not None:
        log(meter, int(parent))


if __name__ == "__main__":
    main()
