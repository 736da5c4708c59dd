// What the adapters of GAP and Wasp, which descends from it, share.
#pragma once

#include "rival.hpp"

#include <algorithm>
#include <cstdint>

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

// Distances of 32-bit integers from `infinite` on are none; Skipped if a path is that long. The arcs need not
// be looked at where even the longest distance and the heaviest arc, the result of `heaviest`, are not.
template <typename Distances>
std::vector<uint32_t> finite(const rival::Graph& graph, const Distances& found, int32_t infinite,
                             int64_t heaviest)
{
    std::vector<uint32_t> distance(graph.vertices(), rival::none);
    int64_t longest = 0;
#pragma omp parallel for reduction(max : longest)
    for (size_t v = 0; v < distance.size(); ++v) {
        const int64_t length = found[v];
        if (length >= infinite) continue;
        distance[v] = static_cast<uint32_t>(length);
        longest = std::max(longest, length);
    }
    if (longest + heaviest < infinite) return distance;

    bool is_too_long = false;
#pragma omp parallel for reduction(|| : is_too_long) schedule(dynamic, 4096)
    for (size_t v = 0; v < distance.size(); ++v) {
        if (distance[v] == rival::none) continue;
        for (int64_t i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
            const bool is_reached = distance[graph.targets[i]] != rival::none;
            is_too_long = is_too_long || (!is_reached && int64_t{distance[v]} + graph.weights[i] >= infinite);
        }
    }
    if (is_too_long) throw rival::Skipped("its distances stay below " + std::to_string(infinite));
    return distance;
}

// Returns the largest weight; Skipped if it is not below `limit`.
inline int64_t heaviest(const rival::Graph& graph, uint32_t limit)
{
    uint32_t found = 0;
    for (uint32_t weight : graph.weights) found = std::max(found, weight);
    if (found >= limit) throw rival::Skipped("its weights stay below " + std::to_string(limit));
    return found;
}

}  // namespace gap
