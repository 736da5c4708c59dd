// Boost.Graph's Dijkstra behind three C functions, for relaxometer/problems/sssp/dijkstra/boost_dijkstra.py.
//
// The graph is Boost's compressed_sparse_row_graph. The search is dijkstra_shortest_paths as in its
// documentation, with the default heap (4-ary, with decrease-key). Distances have 64 bits.

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/property_map.hpp>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace {

struct Arc {
    std::uint64_t weight;
};

typedef boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Arc, boost::no_property,
                                           std::uint32_t, std::uint64_t>
    Graph;

}  // namespace

extern "C" void* graph_new(std::uint32_t n, const std::int64_t* offsets, const std::uint32_t* targets,
                           const std::uint32_t* weights)
{
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
    std::vector<Arc> arcs;
    ends.reserve(offsets[n]);
    arcs.reserve(offsets[n]);
    for (std::uint32_t v = 0; v < n; ++v) {
        for (std::int64_t i = offsets[v]; i < offsets[v + 1]; ++i) {
            ends.emplace_back(v, targets[i]);
            arcs.push_back({weights[i]});
        }
    }
    return new Graph(boost::edges_are_sorted, ends.begin(), ends.end(), arcs.begin(), n);
}

extern "C" void graph_delete(void* graph)
{
    delete static_cast<Graph*>(graph);
}

// Unreached vertices get distance 2^64 - 1 and themselves as predecessor.
extern "C" void graph_search(const void* graph, std::uint32_t source, std::uint64_t* distances,
                             std::uint32_t* predecessors)
{
    const Graph& g = *static_cast<const Graph*>(graph);
    auto index = boost::get(boost::vertex_index, g);
    boost::dijkstra_shortest_paths(
        g, source,
        boost::weight_map(boost::get(&Arc::weight, g))
            .distance_map(boost::make_iterator_property_map(distances, index))
            .distance_inf(std::numeric_limits<std::uint64_t>::max())
            .predecessor_map(boost::make_iterator_property_map(predecessors, index)));
}
