"""The sections of ``config/config.yaml`` and its overlays, and the runs that follow from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    create_model,
    model_validator,
)

from relaxometer.core.errors import UserError

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]


class Section(BaseModel):
    """A part of the configuration; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Timing(Section):
    """How a variant is measured.

    Parameters
    ----------
    sources : int or list of int
        How many sources are drawn from the seed, or the ids of the sources themselves.
    repetitions : int
        Rounds over all sources, so that drift shows.
    warmup : int
        Searches ahead of the first round that are not timed.
    timeout_s : float
        Seconds after which a variant's remaining searches are given up on a graph.
    enough_s : float, optional
        Seconds after the first search from which on a variant begins no further round on a graph: slow ones
        have fewer repetitions.
    """

    sources: PositiveInt | Annotated[list[NonNegativeInt], Field(min_length=1)] = 8
    repetitions: PositiveInt = 2
    warmup: NonNegativeInt = 1
    timeout_s: PositiveFloat = 600
    enough_s: PositiveFloat | None = None


class TimingOverride(Section):
    """A variant's own values for some keys of `Timing`; `sources` then takes the first so many."""

    sources: PositiveInt | None = None
    repetitions: PositiveInt | None = None
    warmup: NonNegativeInt | None = None
    timeout_s: PositiveFloat | None = None
    enough_s: PositiveFloat | None = None


class Variant(Section):
    """A kernel with its parameters, as a problem's `variants` name it.

    Keys beyond these are parameters of the kernel. A list of values stands for one variant a value.

    Parameters
    ----------
    kernel : str, optional
        Name of the variant's module; the variant's own name if left out.
    graphs : list of str, optional
        Run on these graphs only.
    timing : TimingOverride, optional
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    kernel: Name | None = None
    graphs: list[Name] | None = None
    timing: TimingOverride = TimingOverride()


class Problem(Section):
    """What is run for one problem.

    Parameters
    ----------
    graphs : list of str
        Datasets by name.
    variants : dict of str to Variant or False
        Variants by name; nothing means all defaults, False leaves one out that an earlier file names.
    """

    graphs: list[Name] = []
    variants: dict[Name, Variant | Literal[False] | None] = {}


class Series(Section):
    """Searches spread over ranks of MPI, as `distributed` names them: one run for each number of ranks.

    Keys beyond these are parameters of the engine.

    Parameters
    ----------
    problem : {"bfs", "sssp"}
    engine : str, optional
        One of the problem's `ENGINES`; the first if left out.
    graph : str, optional
        A dataset.
    scale : int, optional
        Instead of `graph`: Graph500's graph of 2^scale vertices, which the ranks make themselves.
    scale_per_rank : int, optional
        Instead of `scale`, for weak scaling: 2^scale_per_rank vertices a rank. The numbers of ranks are then
        powers of two.
    ranks : int or list of int
        Processes; each takes one GPU where there is one.
    scheme : str
        How arcs are shared out: ``"paired"``, ``"RxC"`` such as ``"2x4"``, or ``"auto"``.
    roots : int
        Searches; the first so many search keys or sources.
    device : {"auto", "cuda", "host"}, optional
        Instead of the configuration's own.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    problem: Literal["bfs", "sssp"] = "bfs"
    engine: Name | None = None
    graph: Name | None = None
    scale: Annotated[int, Field(ge=1, le=40)] | None = None
    scale_per_rank: Annotated[int, Field(ge=1, le=40)] | None = None
    ranks: PositiveInt | Annotated[list[PositiveInt], Field(min_length=1)]
    scheme: Annotated[str, Field(pattern=r"^(auto|paired|[1-9][0-9]*x[1-9][0-9]*)$")] = "auto"
    roots: PositiveInt = 64
    device: Literal["auto", "cuda", "host"] | None = None


class Throughput(Section):
    """Searches per second of `batch`, which makes many shortest-path searches at once.

    Parameters
    ----------
    graphs : list of str
        Graphs of `sssp`, whose variants stand beside it.
    searches : list of int
        How many searches a launch makes.
    repetitions : int
        Launches of each number that are timed.
    """

    graphs: list[Name] = []
    searches: Annotated[list[PositiveInt], Field(min_length=1)] = [1, 16, 132, 264, 528, 1000]
    repetitions: PositiveInt = 3


class Updates(Section):
    """Times of updates of dominators by `incremental`, beside full solves.

    Parameters
    ----------
    graphs : list of str
        Graphs of `dominators`; no batches.
    arcs : list of int
        How many arcs an update takes away, and the next one gives back.
    repetitions : int
        Draws of arcs for each number.
    """

    graphs: list[Name] = []
    arcs: Annotated[list[PositiveInt], Field(min_length=1)] = [1, 10, 100, 1000]
    repetitions: PositiveInt = 3


class Report(Section):
    """What the report shows beyond the tables.

    Parameters
    ----------
    papers : list of str
        Papers whose figures are redrawn and whose claims are compared: the modules of ``report/papers``.
    maps : list of str
        Graphs that a map of distances is drawn of; they need coordinates.
    """

    papers: list[Name] = ["adaptive"]
    maps: list[Name] = []

    @model_validator(mode="before")
    @classmethod
    def _has_new_keys(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and "sources" in raw:
            raise ValueError("report.sources is now report.papers")
        return raw


class Config(Section):
    """The whole configuration.

    Parameters
    ----------
    device : {"auto", "cuda", "host"}
        Where kernels run; "auto" takes a GPU where there is one.
    seed : int
        Of everything that is drawn at random.
    data_mirrors : list of str
        Folders or base URLs that are tried before a dataset's own URLs.
    datasets : dict of str to Dataset
        Graphs of your own, beside those in ``resources/datasets.yaml``.
    timing : Timing
    kernels : list of str
        Folders with variants and problems of your own; see ``docs/adding.md``.
    sssp, bfs, dominators, ... : Problem
        One section per problem.
    distributed : dict of str to Series or False
        Series of searches over several ranks by name; False leaves one out that an earlier file names.
    throughput : Throughput
    updates : Updates
    report : Report
    """

    device: Literal["auto", "cuda", "host"] = "auto"
    seed: NonNegativeInt = 1
    data_mirrors: list[str] = []
    datasets: dict[Name, dict[str, Any]] = {}
    timing: Timing = Timing()
    kernels: list[str] = []
    distributed: dict[Name, Series | Literal[False]] = {}
    throughput: Throughput = Throughput()
    updates: Updates = Updates()
    report: Report = Report()

    def problem(self, name: str) -> Problem:
        """Return the section of a problem."""
        section: Problem = getattr(self, name)
        return section


def config_model(problems: Iterable[str]) -> type[Config]:
    """Return `Config` with a section for each of these problems.

    Raises
    ------
    UserError
        If a problem is called like another key.
    """
    problems = list(problems)
    for name in Config.model_fields.keys() & problems:
        raise UserError(
            f"problem {name!r}: the configuration has another key of this name; rename the problem"
        )
    sections: dict[str, Any] = {name: (Problem, Problem()) for name in problems}
    return create_model("Config", __base__=Config, **sections)


class Folders(BaseModel):
    """The one key that must be known before the others: it decides which problems there are."""

    kernels: list[str] = []


class Run(Section):
    """One job: a variant of a problem on a graph.

    Parameters
    ----------
    problem, graph, variant, kernel : str
    parameters : dict
        Of the kernel, as given; the kernel's defaults are not filled in.
    timing : Timing
    """

    problem: str
    graph: str
    variant: str
    kernel: str
    parameters: dict[str, Any]
    timing: Timing


class DistributedRun(Section):
    """One job over several ranks.

    Parameters
    ----------
    name, series, problem, engine : str
    graph : str or None
        A dataset, or None for Graph500's graph of `scale`.
    scale : int or None
    ranks : int
    scheme : str
        ``"paired"`` or ``"RxC"``.
    roots : int
    device : str
    parameters : dict
        Of the engine, as given; its defaults are not filled in.
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
