// Boost.Graph: dijkstra_shortest_paths with its default heap (4-ary, with decrease-key), and
// breadth_first_search, on a compressed_sparse_row_graph. Distances have 64 bits.

#include "rival.hpp"

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/property_map.hpp>
#include <boost/version.hpp>

struct Arc {
    uint64_t weight;
};

constexpr uint64_t unreached = UINT64_MAX;
using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Arc, boost::no_property,
                                               uint32_t, uint64_t>;

class Boost : public rival::Adapter {
public:
    Boost(const rival::Graph& graph, const rival::Job& job)
        : is_sssp_(job.problem == "sssp"), distance_(graph.vertices()), predecessor_(graph.vertices())
    {
        std::vector<std::pair<uint32_t, uint32_t>> ends;
        std::vector<Arc> arcs;
        for (uint32_t v = 0; v < graph.vertices(); ++v)
            for (int64_t i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i)
                ends.emplace_back(v, graph.targets[i]);
        for (uint32_t weight : graph.weights) arcs.push_back({weight});
        graph_ = Csr(boost::edges_are_sorted, ends.begin(), ends.end(), arcs.begin(), graph.vertices());
    }

    std::string facts() const override
    {
        return "version=" + std::to_string(BOOST_VERSION / 100000) + "." +
               std::to_string(BOOST_VERSION / 100 % 1000);
    }

    void solve(int64_t source) override
    {
        auto index = boost::get(boost::vertex_index, graph_);
        auto distance = boost::make_iterator_property_map(distance_.begin(), index);
        auto predecessor = boost::make_iterator_property_map(predecessor_.begin(), index);
        if (is_sssp_) {
            boost::dijkstra_shortest_paths(graph_, source,
                                           boost::weight_map(boost::get(&Arc::weight, graph_))
                                               .distance_map(distance)
                                               .distance_inf(unreached)
                                               .predecessor_map(predecessor));
            return;
        }
        std::fill(distance_.begin(), distance_.end(), unreached);
        distance_[source] = 0;
        predecessor_[source] = source;
        auto visitor = boost::make_bfs_visitor(
            std::make_pair(boost::record_distances(distance, boost::on_tree_edge()),
                           boost::record_predecessors(predecessor, boost::on_tree_edge())));
        boost::breadth_first_search(graph_, source, boost::visitor(visitor));
    }

    void answer(rival::Answer& out) override
    {
        for (size_t v = 0; v < distance_.size(); ++v)
            if (distance_[v] == unreached) predecessor_[v] = rival::none;
        out.column(is_sssp_ ? "distance" : "level", distance_);
        out.column("predecessor", predecessor_);
    }

private:
    bool is_sssp_;
    Csr graph_;
    std::vector<uint64_t> distance_;
    std::vector<uint32_t> predecessor_;
};

int main(int count, char** arguments)
{
    return rival::serve<Boost>(count, arguments);
}
