// Gives a graph the order of vertices that the kernels for batches need, and gives its answer the old one.

#pragma once

#include <cstdint>
#include <vector>

namespace reldom_host {

const uint32_t UNRANKED = 0xffffffffu;

// A graph of a batch of which the host has a copy: the arcs of vertex v are offsets[v] to offsets[v + 1] - 1.
// Targets are those of the batch.
template <class Offset>
struct Graph {
    uint32_t n;
    Offset* offsets;
    uint32_t* targets;
};

enum class Order {
    READY,       // each vertex but the root has a predecessor with a smaller number
    NEEDED,      // some vertex has none
    IMPOSSIBLE,  // a target is not a vertex
};

// Does on the host what find_unordered does on the device.
template <class Offset>
Order order_of(const Graph<Offset>& graph)
{
    std::vector<char> reached(graph.n, 0);
    for (Offset i = graph.offsets[0]; i < graph.offsets[graph.n]; ++i) {
        uint32_t w = graph.targets[i];
        if (w >= graph.n) return Order::IMPOSSIBLE;
        if (i < graph.offsets[w]) reached[w] = 1;
    }
    for (uint32_t v = 1; v < graph.n; ++v)
        if (!reached[v]) return Order::NEEDED;
    return Order::READY;
}

// The vertices that the root reaches, in post-order of a depth-first search.
template <class Offset>
std::vector<uint32_t> post_order(const Graph<Offset>& graph)
{
    std::vector<Offset> next(graph.offsets, graph.offsets + graph.n);
    std::vector<char> seen(graph.n, 0);
    std::vector<uint32_t> path = {0}, left;
    seen[0] = 1;
    while (!path.empty()) {
        uint32_t v = path.back();
        if (next[v] == graph.offsets[v + 1]) {
            left.push_back(v);
            path.pop_back();
            continue;
        }
        uint32_t w = graph.targets[next[v]++];
        if (!seen[w]) {
            seen[w] = 1;
            path.push_back(w);
        }
    }
    return left;
}

// Numbers the vertices of a graph in reverse post-order and rewrites it in place; returns the new number of
// each vertex, UNRANKED if it is unreached.
//
// Unreached vertices get the last numbers and lose their arcs, so nothing leads to them from the others. The
// last one takes the places of the lost arcs with arcs to the root, which no kernel follows. So the rest of
// the batch does not move, and what kernels write for these vertices is ignored.
template <class Offset>
std::vector<uint32_t> renumber(const Graph<Offset>& graph)
{
    std::vector<uint32_t> rank(graph.n, UNRANKED);
    std::vector<uint32_t> old_of = post_order(graph);
    const uint32_t reached = static_cast<uint32_t>(old_of.size());
    for (uint32_t k = 0; k < reached; ++k) rank[old_of[k]] = reached - 1 - k;

    const Offset begin = graph.offsets[0];
    const std::vector<Offset> offsets(graph.offsets, graph.offsets + graph.n + 1);
    const std::vector<uint32_t> targets(graph.targets + begin, graph.targets + offsets[graph.n]);
    Offset end = begin;
    for (uint32_t k = 0; k < reached; ++k) {
        uint32_t v = old_of[reached - 1 - k];
        graph.offsets[k] = end;
        for (Offset i = offsets[v]; i < offsets[v + 1]; ++i) graph.targets[end++] = rank[targets[i - begin]];
    }
    for (uint32_t k = reached; k < graph.n; ++k) graph.offsets[k] = end;
    while (end < offsets[graph.n]) graph.targets[end++] = 0;
    return rank;
}

// Rewrites the answer for a renumbered graph in place, for its old numbers.
inline void restore_numbers(const std::vector<uint32_t>& rank, uint32_t* idom)
{
    std::vector<uint32_t> old_of(rank.size());
    for (uint32_t v = 0; v < rank.size(); ++v)
        if (rank[v] != UNRANKED) old_of[rank[v]] = v;
    const std::vector<uint32_t> found(idom, idom + rank.size());
    for (uint32_t v = 0; v < rank.size(); ++v)
        idom[v] = rank[v] == UNRANKED ? UNRANKED : old_of[found[rank[v]]];
}

}  // namespace reldom_host
