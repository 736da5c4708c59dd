"""Graphs that hypothesis draws; apart from `sample_graphs`, which processes load that draw none."""

from hypothesis import strategies as st

from relaxometer.graphs.graph import Graph


@st.composite
def drawn_graphs(draw, weight, most=20, weight_type="uint32"):
    """A strategy for graphs of weights drawn from `weight`, with a source; of at most `most` vertices."""
    n = draw(st.integers(1, most))
    vertex = st.integers(0, n - 1)
    # With more than eight arcs per vertex, a graph is not taken for a map.
    arcs = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=min(3 * most, 8 * n)))
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    kept = draw(st.booleans())
    given = {"keep_self_loops": kept, "keep_parallel": kept, "weight_type": weight_type}
    return Graph.from_arcs("drawn", n, tails, heads, weights, **given), draw(vertex)


@st.composite
def flow_graphs(draw, max_vertices=7, max_arcs=16):
    """Draw (name, n_vertices, tails, heads, entry) with loops, parallel arcs and unreachable vertices."""
    n_vertices = draw(st.integers(1, max_vertices))
    vertex = st.integers(0, n_vertices - 1)
    arcs = draw(st.lists(st.tuples(vertex, vertex), max_size=max_arcs))
    name = draw(st.text(alphabet="fgλ", max_size=3))
    return name, n_vertices, [u for u, _ in arcs], [v for _, v in arcs], draw(vertex)
