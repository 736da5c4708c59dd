"""The sections of ``config/config.yaml`` and its overlays, and the runs that they describe."""

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    field_validator,
    model_validator,
)

from relaxometer.core.errors import UserError
from relaxometer.core.validation import EachOnce, Name, Section, Seed
from relaxometer.problems.variants import load_solver

MAX_SEARCHES = 100_000
"""Limit of the timed searches of a run, all of whose samples are in memory at its end."""

MAX_COMBINATIONS = 64
"""Limit on the combinations of values that are tried to tune a rival."""

MAX_TABLE = 2_000
"""Limit of the vertices of a table of distances, which has a row per pair."""

DEFAULT_ROUNDS = 2


def _is_false(value: Any) -> Any:
    if value is not False and value == 0:
        raise ValueError("should be false")
    return value


LeftOut = Annotated[Literal[False], BeforeValidator(_is_false)]
Count = Annotated[int, Field(ge=1, le=MAX_SEARCHES)]
Counts = Annotated[list[Count], Field(min_length=1), EachOnce]
Names = Annotated[list[Name], EachOnce]
Some = Annotated[Names, Field(min_length=1)]
Rounds = Annotated[int, Field(ge=1, le=100)]
Calls = Annotated[int, Field(ge=0, le=MAX_SEARCHES)]
Warmup = Annotated[int, Field(ge=0, le=MAX_SEARCHES)]
Vertex = Annotated[int, Field(ge=0, lt=2**32)]
Seconds = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Ranks = Annotated[int, Field(ge=1, le=2**16)]
ManySources = Literal["many-sources", "phast-many", "phast-many-distances"]
MultiSource = Literal["multi-source", "multi-source-levels"]
MAX_SCALE = 40
Scale = Annotated[int, Field(ge=1, le=MAX_SCALE)]


class Timing(Section):
    """How a variant is measured."""

    sources: Count | Annotated[list[Vertex | str], Field(min_length=1, max_length=MAX_SEARCHES), EachOnce] = 8
    """Number of sources drawn from the seed, or the sources' numbers, or as texts their ids in the file of a
    graph that keeps them; for query sets, the number per name. Intervals and ranks need at least six
    samples."""
    repetitions: Count = 2
    """Passes over all sources, shared by the rounds. Searches of less than a millisecond need more: 20 with
    `enough_s: 2` halve the spread between processes."""
    rounds: Rounds | None = None
    """Processes that measure a variant or rival, in mirrored order: A B C, then C B A. Each makes
    `repetitions` / `rounds` passes, rounded up. By default 2; only the first on the emulated device."""
    warmup: Warmup = 1
    """Untimed searches of each process before its first pass, from vertices that are not timed; without
    calls, the first completes `cold_ms`. Unless this is 0, each search that follows one of less than 5 ms is
    preceded by one more, and a variant that is not emulated searches once before the timed preparation."""
    timeout_s: Seconds = 600
    """A variant is killed if its preparation on a graph takes longer than this many seconds, or if all its
    searches do. A first preparation, in which its kernels compile, may take another minute. Each call has
    this time again."""
    enough_s: Seconds | None = None
    """No further pass of a process begins this many seconds after its first search, so slow variants have
    fewer repetitions. Nor does an instrumented search this many seconds after the first one, so they have
    phases of fewer sources."""
    calls: Calls = 16
    """Timed calls of each process (`call_ms`), from the sources in turn; 1 on the emulated device. After the
    sixth, none begins more than 3 s after the first."""
    flush_cache: bool = False
    """Before each timed search of a variant on a GPU, memory several times as large as its caches is written,
    so that it reads the graph from memory. Otherwise caches hold what earlier searches left."""

    def processes(self, *, emulated: bool) -> int:
        """Return the number of rounds, on the emulated device or not."""
        return self.rounds or (1 if emulated else DEFAULT_ROUNDS)

    @property
    def passes(self) -> int:
        """The number of passes over all sources that each round makes."""
        return math.ceil(self.repetitions / (self.rounds or DEFAULT_ROUNDS))


class Cost(Section):
    """Measurements of a variant in addition to its times."""

    energy_s: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = 0.0
    """Duration of an energy measurement in seconds: 0, or at least 1, since a GPU updates its energy counter
    only ten times per second. With 0, energy, clocks and the driver's count of device memory are not
    recorded."""
    repeats: Annotated[int, Field(ge=1, le=100)] = 5
    """Number of energy measurements per process, with as much idle time before, between and after."""

    @field_validator("energy_s")
    @classmethod
    def _is_long_enough(cls, seconds: float) -> float:
        if 0 < seconds < 1:
            raise ValueError("expected 0 or at least 1")
        return seconds


class TimingOverride(Section):
    """A variant's own values for keys of `Timing`; `sources` takes that many of the common sources.

    Null resets `rounds` and `enough_s`.
    """

    sources: Count | None = None
    repetitions: Count | None = None
    rounds: Rounds | None = None
    warmup: Warmup | None = None
    timeout_s: Seconds | None = None
    enough_s: Seconds | None = None
    calls: Calls | None = None
    flush_cache: bool | None = None


class Variant(Section):
    """A solver with its parameters, as a problem's `variants` name it.

    All other keys are parameters of the solver. A list of values makes one variant per value.
    """

    model_config = ConfigDict(extra="allow")

    solver: Name | None = None
    """Name of the solver's module; the variant's own name if left out."""
    graphs: Some | None = None
    """Run only on these graphs."""
    not_on: Names = []
    """Do not run on these graphs, which need not be among the problem's."""
    timing: TimingOverride = TimingOverride()


class RivalEntry(Section):
    """A rival with its parameters, as a problem's `rivals` name it.

    All other keys are parameters of its adapter. A list of values makes one line per value.
    """

    model_config = ConfigDict(extra="allow")

    rival: Name | None = None
    """Name of the rival's folder; the entry's own name if left out."""
    command: Annotated[str, Field(min_length=1)] | None = None
    """Command that starts the adapter, split into words as in a shell: for a program that you have built."""
    threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Threads of a rival that runs on all cores; as many as there are cores if left out."""
    tune: dict[str, Annotated[list[Any], Field(min_length=1, max_length=16)]] = {}
    """Parameters and the values to try. The fastest ones on two other sources are used, and an entry without
    `tune` uses the defaults."""
    graphs: Some | None = None
    """Run only on these graphs."""
    not_on: Names = []
    """Do not run on these graphs, which need not be among the problem's."""
    timing: TimingOverride = TimingOverride()


class Problem(Section):
    """The graphs, variants and rivals of one problem."""

    graphs: Names = []
    """Datasets by name."""
    variants: dict[Name, Variant | LeftOut | None] = {}
    """Variants by name. An empty value means all defaults; False removes a variant of an earlier file."""
    rivals: dict[Name, RivalEntry | LeftOut | None] | LeftOut = {}
    """Third-party programs, in the same way. False removes all of an earlier file."""
    only: Some | None = None
    """Run exactly these of `variants` and `rivals`, with their settings there. Other solvers and rivals may
    be named too and take all defaults."""
    queries: dict[Name, dict[str, Any] | LeftOut] = {}
    """Query sets of `routes`, by name. False removes a set of an earlier file."""

    @model_validator(mode="before")
    @classmethod
    def _say_how_it_is_left_out(cls, given: Any) -> Any:
        if given is None or given is False:
            raise ValueError("should be a section with keys; { graphs: [] } leaves it out")
        return given


class Series(Section):
    """Searches spread over MPI ranks, as `distributed` names them: one run per number of ranks.

    All other keys are parameters of the engine.
    """

    model_config = ConfigDict(extra="allow")

    problem: Literal["bfs", "sssp"] = "bfs"
    """The problem that the ranks solve."""
    engine: Name | None = None
    """An engine of the problem; if left out, `hybrid-2d` for bfs and `sssp-1d` for sssp."""
    graph: Name | None = None
    """A dataset."""
    scale: Scale | None = None
    """Instead of `graph`: the Graph500 graph of 2^scale vertices, generated by the ranks."""
    scale_per_rank: Scale | None = None
    """Instead of `scale`, for weak scaling: 2^scale_per_rank vertices per rank. Numbers of ranks must then be
    powers of two."""
    ranks: Ranks | Annotated[list[Ranks], Field(min_length=1), EachOnce]
    """Processes, with one GPU each if there are GPUs."""
    scheme: Annotated[str, Field(pattern=r"^(auto|paired|[1-9][0-9]{0,4}x[1-9][0-9]{0,4})$")] = "auto"
    """Partition of the arcs: ``"paired"``, ``"RxC"`` such as ``"2x4"``, or ``"auto"``."""
    roots: Count = 64
    """Number of searches, from the first search keys or sources; on `graph` at most `timing.sources`."""
    device: Literal["auto", "cuda", "host"] | None = None
    """Overrides the configuration's."""


class Throughput(Section):
    """Searches per second of variants that make many shortest-path searches at once."""

    graphs: Names = []
    """Graphs of `sssp`, with whose variants they are compared."""
    variants: Annotated[list[ManySources], Field(min_length=1), EachOnce] = ["many-sources"]
    """`many-sources`, `phast-many`, which skips graphs that are not maps, and `phast-many-distances`, the
    same without predecessors."""
    searches: Counts = [1, 16, 132, 264, 528, 1000]
    """Numbers of searches per launch."""
    repetitions: Count = 3
    """Timed launches per number of searches."""


class BfsThroughput(Section):
    """Searches per second of the variant that makes many breadth-first searches at once."""

    graphs: Names = []
    """Graphs of `bfs`, with whose variants it is compared."""
    variants: Annotated[list[MultiSource], Field(min_length=1), EachOnce] = [
        "multi-source",
        "multi-source-levels",
    ]
    """`multi-source`, and `multi-source-levels`, the same without predecessors."""
    searches: Counts = [1, 16, 64, 256]
    """Numbers of searches per call, which launches a kernel for each 64."""
    repetitions: Count = 3
    """Timed calls per number of searches."""


class Traffic(Section):
    """Shortest paths after weights have changed on the same map, as traffic changes them."""

    graphs: Names = []
    """Graphs of `sssp`."""
    variants: Names = ["phast", "near-far", "tiled", "dijkstra-cpu"]
    """Solvers of `sssp`, with their default parameters. Those that cannot take new weights are prepared
    anew."""
    routes: Names = []
    """Solvers of `routes`, likewise. Each of their searches answers random pairs."""
    pairs: Annotated[int, Field(ge=1, le=2**24)] = 1_000_000
    """Number of these pairs."""
    rivals: dict[Name, RivalEntry | LeftOut | None] | LeftOut = {}
    """Third-party programs that can take new weights, as under `rivals` of a problem; without `tune`, and
    with only `timeout_s` of `timing`, the limit of the preparation and of each round."""
    share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.1
    """Share of the arcs that are slowed."""
    factor: Annotated[float, Field(ge=1, le=2**32, allow_inf_nan=False)] = 5.0
    """An arc is slowed by a factor drawn between 1 and this one."""
    rounds: Count = 5
    """Changes of the weights, each starting from those of the graph."""
    searches: Count = 8
    """Searches after each change."""


class AllPairs(Section):
    """Eccentricities, radius, diameter, closeness and harmonic centrality, from proven distances."""

    graphs: Names = []
    """Graphs of `sssp`, of which those that are not maps are skipped; with `hops`, of `bfs`."""
    hops: bool = False
    """Whether distances count arcs."""
    sources: Literal["all"] | Annotated[int, Field(ge=1, lt=2**32)] = "all"
    """All vertices, or a number to draw from the seed; then radius and diameter are bounds."""
    proven: Literal["all"] | Annotated[int, Field(ge=1, lt=2**32)] = "all"
    """All sources, or a number of them to draw from the seed, whose distances are proven. Radius and diameter
    are those of the proven sources."""
    table: (
        Annotated[int, Field(ge=0, le=MAX_TABLE)]
        | Annotated[list[Vertex], Field(min_length=1, max_length=MAX_TABLE), EachOnce]
    ) = 0
    """Number of vertices drawn from the seed, or the vertices' ids. The distances between any two of them are
    kept."""


class Updates(Section):
    """Updates of dominators by `incremental`, compared with full solves."""

    graphs: Names = []
    """Graphs of `dominators`; no batches."""
    arcs: Annotated[list[Annotated[int, Field(ge=1, lt=2**32)]], Field(min_length=1), EachOnce] = [
        1,
        10,
        100,
        1000,
    ]
    """Numbers of arcs that an update removes and the next one adds again."""
    repetitions: Count = 3
    """Draws of arcs per number."""


class RetainedSizes(Section):
    """Retained sizes of heaps: dominators, and sums of sizes over their tree."""

    graphs: Names = []
    """Heaps of `dominators`."""
    variants: Names = ["auto", "semi-nca"]
    """Solvers of `dominators` that take one graph, with their default parameters."""
    repetitions: Count = 6
    """Timed repetitions."""
    enough_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    """A variant starts no further repetition after this many seconds."""
    most_on_cpu: Annotated[int, Field(ge=0, lt=2**32)] = 2**32 - 1
    """Objects of the largest heap that variants on the CPU do not skip."""


class Report(Section):
    """Contents of the report beyond the tables."""

    papers: Names = ["adaptive"]
    """Papers whose figures are redrawn and whose claims are compared: the modules of ``report/papers``."""
    maps: Names = []
    """Graphs whose distances are drawn as a map if the run has them; they need coordinates."""
    base: Annotated[str, Field(min_length=1)] | None = None
    """An earlier run that the report compares this one with: a bundle, a results folder or a published
    suite."""


class Config(Section):
    """The whole configuration."""

    device: Literal["auto", "cuda", "host"] = "auto"
    """Where kernels run; "auto" uses a GPU if there is one."""
    seed: Seed = 1
    """Seed of everything drawn at random."""
    data_mirrors: list[str] = []
    """Folders or base URLs tried before a dataset's own URLs."""
    datasets: dict[Name, dict[str, Any]] = {}
    """Graphs of your own, in addition to ``resources/datasets.yaml``."""
    timing: Timing = Timing()
    cost: Cost = Cost()

    kernels: list[str] = []
    """Folders with variants and problems of your own; see ``docs/adding.md``."""
    rivals: list[str] = []
    """Folders with rivals of your own; see ``docs/rivals.md``."""
    distributed: dict[Name, Series | LeftOut] = {}
    """Series of searches over several ranks, by name. False removes a series of an earlier file."""
    throughput: Throughput = Throughput()
    bfs_throughput: BfsThroughput = BfsThroughput()
    traffic: Traffic = Traffic()
    all_pairs: AllPairs = AllPairs()
    updates: Updates = Updates()
    retained: RetainedSizes = RetainedSizes()
    report: Report = Report()

    def problem(self, name: str) -> Problem:
        """Return the section of a problem."""
        section: Problem = getattr(self, name)
        return section


def config_model(problems: Iterable[str]) -> type[Config]:
    """Return `Config` with a section for each problem; UserError if a problem has another key's name."""
    problems = list(problems)
    for name in Config.model_fields.keys() & problems:
        raise UserError(
            f"problem {name!r}: the configuration has another key of this name; rename the problem"
        )
    section = Field(Problem(), description="One section per problem, also of your own.")
    sections: dict[str, Any] = dict.fromkeys(problems, (Problem, section))
    return create_model("Config", __base__=Config, **sections)


class Folders(BaseModel):
    """The key that is read before the others, since it adds problems."""

    kernels: list[str] = []


class Run(Section):
    """A variant of a problem on a graph: one job per round.

    `parameters` are those of the solver as given, without its defaults.
    """

    problem: str
    graph: str
    variant: str
    solver: str
    parameters: dict[str, Any]
    timing: Timing
    cost: Cost = Cost()

    def folder(self, number: int = 1) -> str:
        """Return the folder of a round's results."""
        first = f"results/runs/{self.problem}/{self.graph}/{self.variant}"
        return first if number == 1 else f"{first}/rounds/{number}"

    @cached_property
    def solver_parameters(self) -> Any:
        """The parameters as the solver's own model."""
        return load_solver(self.problem, self.solver).Parameters.model_validate(self.parameters)


class RivalRun(Run):
    """A rival on a graph, as a `Run`; `solver` is its name, `parameters` are those of its adapter as given.

    `kind` is its class of machine: ``cpu-1``, ``cpu-all`` or ``gpu``.
    """

    kind: str
    command: str | None = None
    threads: int | None = None
    tune: dict[str, list[Any]] = {}


class DistributedRun(Section):
    """One job over several ranks.

    `graph` is a dataset, or None for the Graph500 graph of `scale`; `scheme` is ``"paired"`` or ``"RxC"``;
    `parameters` are those of the engine as given, without its defaults.
    """

    name: str
    series: str
    problem: str
    engine: str
    graph: str | None
    scale: int | None
    ranks: int
    scheme: str
    roots: int
    device: str
    parameters: dict[str, Any]
