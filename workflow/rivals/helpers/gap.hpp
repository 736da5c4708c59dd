// What the adapters of GAP and Wasp, which descends from it, share.
#pragma once

#include "rival.hpp"

#include <cstdint>
#include <type_traits>

namespace gap {

// Makes a `CSRGraph` of arcs, which frees them; `make` makes an arc from its head and its number. Of an
// undirected graph the arcs are their own reverse.
template <typename Csr, typename Arc, typename Make>
Csr make_graph(const rival::Graph& graph, Make make)
{
    const auto n = static_cast<int64_t>(graph.vertices()), m = static_cast<int64_t>(graph.arcs());
    auto** rows = new Arc*[n + 1];
    auto* arcs = new Arc[m];
#pragma omp parallel for
    for (int64_t v = 0; v <= n; ++v) rows[v] = arcs + graph.offsets[v];
#pragma omp parallel for
    for (int64_t i = 0; i < m; ++i) arcs[i] = make(graph.targets[i], i);
    if (!graph.directed) return Csr(n, rows, arcs);

    std::vector<int64_t> ends(n + 2);  // of the rows of the reverse, one place later
    for (int64_t i = 0; i < m; ++i) ++ends[graph.targets[i] + 2];
    for (int64_t v = 0; v < n; ++v) ends[v + 2] += ends[v + 1];
    auto** back_rows = new Arc*[n + 1];
    auto* back = new Arc[m];
    for (int64_t v = 0; v < n; ++v)
        for (int64_t i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i)
            back[ends[graph.targets[i] + 1]++] = make(static_cast<uint32_t>(v), i);
    for (int64_t v = 0; v <= n; ++v) back_rows[v] = back + ends[v];
    return Csr(n, rows, arcs, back_rows, back);
}

// Distances of 32-bit integers from `infinite` on are none; Skipped if a path is that long.
template <typename Distances>
std::vector<uint32_t> finite(const rival::Graph& graph, const Distances& found, int32_t infinite)
{
    std::vector<uint32_t> distance(graph.vertices(), rival::none);
    bool is_too_long = false;
#pragma omp parallel for reduction(|| : is_too_long) schedule(dynamic, 4096)
    for (size_t v = 0; v < distance.size(); ++v) {
        const int64_t length = found[v];
        if (length >= infinite) continue;
        distance[v] = static_cast<uint32_t>(length);
        for (int64_t i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
            const bool is_finite = found[graph.targets[i]] < infinite;
            is_too_long = is_too_long || (!is_finite && length + graph.weights[i] >= infinite);
        }
    }
    if (is_too_long) throw rival::Skipped("its distances stay below " + std::to_string(infinite));
    return distance;
}

inline void refuse_weights_from(const rival::Graph& graph, uint32_t limit)
{
    for (uint32_t weight : graph.weights)
        if (weight >= limit) throw rival::Skipped("its weights stay below " + std::to_string(limit));
}

}  // namespace gap
