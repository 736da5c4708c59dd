"""A graph resident on a device: the CSR arrays where the kernels read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs import survey
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import Lengths
from relaxometer.graphs.survey import Features


@dataclass(frozen=True, eq=False)
class ResidentGraph:
    """CSR arrays of a graph in device memory.

    Searches that read no weights need none; neither they nor heads are there if the arcs stay in host memory.
    """

    device: Device
    host: Graph  # the same graph in host memory
    offsets: DeviceArray  # shape (n_vertices + 1,), int64
    targets: Any  # shape (n_arcs,), uint32, or None
    weights: Any  # their bits, whatever the type: shape (n_arcs,), uint32 or uint64, or None

    @classmethod
    def upload(
        cls, device: Device, graph: Graph, *, arcs: bool = True, weights: bool = True
    ) -> ResidentGraph:
        """Copy `graph` to `device`, with or without arcs or weights; DeviceOutOfMemory if it does not fit."""
        words = graph.weights.view(graph.lengths.weight_word)
        wanted = (graph.offsets, graph.targets, words)[: 1 + arcs + (arcs and weights)]
        resident = cls(device, graph, *[*device.asarrays(*wanted), None, None][:3])
        resident.begin_survey()
        return resident

    def begin_survey(self) -> None:
        """Begin to find the features, as the graph arrives, unless the host would have to wait for them."""
        if self.targets is not None and self.device.kind == "cuda":
            vars(self)["_survey"] = survey.start(self.device, self.offsets, self.targets)

    @cached_property
    def features(self) -> Features:
        """What tells which variant suits the graph, from a survey that begins with the upload."""
        arrived = vars(self).pop("_survey", None) or survey.start(self.device, self.offsets, self.targets)
        return arrived()

    @property
    def is_sound(self) -> bool:
        """Whether the arrays are those of the graph."""
        return True

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    @property
    def n_arcs(self) -> int:
        """Number of directed arcs."""
        return self.host.n_arcs if self.targets is None else len(self.targets)

    @property
    def lengths(self) -> Lengths:
        """The type of the graph's weights, and of lengths of paths."""
        return self.host.lengths

    @property
    def metadata(self) -> dict[str, Any]:
        """The graph's metadata."""
        return self.host.metadata

    @property
    def csr(self) -> tuple[np.uint32, Any, Any, Any]:
        """The first arguments of most kernels: `n_vertices`, `offsets`, `targets`, `weights`."""
        return np.uint32(self.n_vertices), self.offsets, self.targets, self.weights


class ResidentArrays(ResidentGraph):
    """Arrays on a device that may prove unsound, whose copy in host memory is made when it is first read.

    `make_host` returns the graph in host memory. `settle` waits for the check of the arrays and returns
    whether they are sound; if not, they are those of some other graph.
    """

    def __init__(
        self,
        device: Device,
        make_host: Callable[[], Graph],
        offsets: DeviceArray,
        targets: DeviceArray,
        weights: Any,
        lengths: Lengths,
        settle: Callable[[], bool],
    ) -> None:
        vars(self).update(device=device, offsets=offsets, targets=targets, weights=weights)
        vars(self).update(_make_host=make_host, _lengths=lengths, _settle=settle)

    @cached_property
    def is_sound(self) -> bool:
        """Whether the arrays are those of the graph; waits for their check."""
        sound: bool = vars(self)["_settle"]()
        return sound

    @cached_property
    def host(self) -> Graph:
        """The same graph in host memory."""
        _ = self.is_sound  # spares the host a second check
        made: Graph = vars(self)["_make_host"]()
        return made

    @property
    def lengths(self) -> Lengths:
        """The type of the graph's weights, and of lengths of paths."""
        lengths: Lengths = vars(self)["_lengths"]
        return lengths

    @property
    def metadata(self) -> dict[str, Any]:
        """Nothing is known but the arrays."""
        return {}
