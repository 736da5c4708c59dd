// RoutingKit's customizable contraction hierarchies, customized on all threads. A tree is a query with all
// vertices as targets, which RoutingKit answers on one core; sets of queries are shared among the threads,
// and a table is a query to all its targets per origin. The order, which RoutingKit leaves to the user, is
// METIS's nested dissection. A query reads the weights of its metric, so new weights need no new query.

#include "rival.hpp"

#include <algorithm>
#include <memory>
#include <metis.h>
#include <numeric>
#include <omp.h>
#include <routingkit/customizable_contraction_hierarchy.h>

constexpr uint32_t infinite = INT32_MAX;  // RoutingKit's own
constexpr const char* limit = "RoutingKit's distances and weights stay below 2,147,483,647";

class Cch : public rival::Adapter {
public:
    Cch(const rival::Graph& graph, const rival::Job& job)
        : graph_(graph),
          has_queries_(job.problem == "routes"),
          threads_(static_cast<unsigned>(job.number("threads", 1))),
          tails_(graph.arcs()),
          distance_(graph.vertices())
    {
        for (size_t v = 0; v < graph.vertices(); ++v)
            std::fill(tails_.begin() + graph.offsets[v], tails_.begin() + graph.offsets[v + 1], v);
        take(graph.weights);
    }

    std::string facts() const override
    {
        return facts_ + " customize_ms=" + customize_ms_;
    }

    void prepare() override
    {
        rival::Stopwatch ordering;
        const std::vector<unsigned> order = dissect();
        facts_ = "order_ms=" + ordering.ms();
        rival::Stopwatch contracting;
        hierarchy_ =
            std::make_unique<RoutingKit::CustomizableContractionHierarchy>(order, tails_, graph_.targets);
        levels_.reset(*hierarchy_);
        metric_.reset(*hierarchy_, weights_.data());
        facts_ += " contract_ms=" + contracting.ms();
        customize();
        queries_.assign(has_queries_ ? threads_ : 1,
                        RoutingKit::CustomizableContractionHierarchyQuery(metric_));
        if (has_queries_) return;
        rival::Stopwatch choosing;
        std::vector<unsigned> all(graph_.vertices());
        std::iota(all.begin(), all.end(), 0);
        queries_[0].pin_targets(all);
        facts_ += " targets_ms=" + choosing.ms();
    }

    void take(std::vector<uint32_t> weights) override
    {
        for (uint32_t weight : weights)
            if (weight >= infinite) throw rival::Skipped(limit);
        weights_ = std::move(weights);
    }

    void customize() override
    {
        rival::Stopwatch customizing;
        metric_.reset(weights_.data());
        if (threads_ > 1)
            levels_.customize(metric_, threads_);
        else
            metric_.customize();
        customize_ms_ = customizing.ms();
    }

    void ask(rival::Queries asked) override
    {
        asked_ = std::move(asked);
        distance_.resize(asked_.origins.size());
        paths_.resize(asked_.paths ? distance_.size() : 0);
    }

    void solve(int64_t source) override
    {
        if (has_queries_) {
            asked_.columns != 0 && !asked_.paths ? fill_table() : find_pairs();
            return;
        }
        queries_[0].reset_source().add_source(static_cast<unsigned>(source));
        queries_[0].run_to_pinned_targets().get_distances_to_targets(distance_.data());
    }

    void answer(rival::Answer& out) override
    {
        int64_t least_lost = infinite;
        if (has_queries_) {
            refuse_lost_paths();
            least_lost = std::min(least_lost, asked_.cutoff + int64_t{1});
        } else {
            refuse_lost_vertices();
        }
        std::vector<int64_t> distance(distance_.begin(), distance_.end());
        for (int64_t& length : distance)
            if (length >= least_lost) length = -1;
        out.column("distance", distance);
        if (!has_queries_ || !asked_.paths) return;
        std::vector<unsigned> size, path;
        for (size_t query = 0; query < paths_.size(); ++query) {
            if (distance[query] < 0) paths_[query].clear();
            size.push_back(static_cast<unsigned>(paths_[query].size()));
            path.insert(path.end(), paths_[query].begin(), paths_[query].end());
        }
        out.column("size", size);
        out.column("path", path);
    }

private:
    void find_pairs()
    {
#pragma omp parallel num_threads(threads_)
        {
            auto& query = queries_[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 256)
            for (size_t k = 0; k < distance_.size(); ++k) {
                query.reset().add_source(asked_.origins[k]).add_target(asked_.targets[k]).run();
                distance_[k] = query.get_distance();
                if (asked_.paths) paths_[k] = query.get_node_path();
            }
        }
    }

    void fill_table()
    {
        const size_t columns = asked_.columns;
        const std::vector<unsigned> targets(asked_.targets.begin(), asked_.targets.begin() + columns);
#pragma omp parallel num_threads(threads_)
        {
            auto& query = queries_[omp_get_thread_num()];
            query.reset().pin_targets(targets);
#pragma omp for schedule(dynamic)
            for (size_t first = 0; first < distance_.size(); first += columns)
                query.reset_source()
                    .add_source(asked_.origins[first])
                    .run_to_pinned_targets()
                    .get_distances_to_targets(&distance_[first]);
        }
    }

    // Skipped if there is a path where none was found: its length counts as infinite.
    void refuse_lost_vertices() const
    {
        for (size_t arc = 0; arc < tails_.size(); ++arc)
            if (distance_[graph_.targets[arc]] == infinite && distance_[tails_[arc]] < infinite)
                throw rival::Skipped(limit);
    }

    void refuse_lost_paths() const
    {
        if (asked_.cutoff < infinite || std::count(distance_.begin(), distance_.end(), infinite) == 0) return;
        const std::vector<unsigned> ones(tails_.size(), 1);
        RoutingKit::CustomizableContractionHierarchyMetric hops(*hierarchy_, ones);
        hops.customize();
        RoutingKit::CustomizableContractionHierarchyQuery query(hops);
        for (size_t k = 0; k < distance_.size(); ++k) {
            if (distance_[k] != infinite) continue;
            query.reset().add_source(asked_.origins[k]).add_target(asked_.targets[k]).run();
            if (query.get_distance() != infinite) throw rival::Skipped(limit);
        }
    }

    // Vertices in the order of contraction. METIS wants every edge twice, once per end, and no loops.
    std::vector<unsigned> dissect() const
    {
        std::vector<std::pair<idx_t, idx_t>> pairs;
        for (size_t arc = 0; arc < tails_.size(); ++arc)
            if (tails_[arc] != graph_.targets[arc]) {
                pairs.emplace_back(tails_[arc], graph_.targets[arc]);
                pairs.emplace_back(graph_.targets[arc], tails_[arc]);
            }
        std::sort(pairs.begin(), pairs.end());
        pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
        idx_t n = static_cast<idx_t>(graph_.vertices());
        std::vector<idx_t> first(n + 1), heads, order(n), ranks(n);
        for (auto [tail, head] : pairs) {
            ++first[tail + 1];
            heads.push_back(head);
        }
        std::partial_sum(first.begin(), first.end(), first.begin());
        std::iota(order.begin(), order.end(), 0);
        if (!pairs.empty() && METIS_NodeND(&n, first.data(), heads.data(), nullptr, nullptr, order.data(),
                                           ranks.data()) != METIS_OK)
            throw std::runtime_error("METIS found no order");
        return {order.begin(), order.end()};
    }

    const rival::Graph& graph_;
    bool has_queries_;
    unsigned threads_;
    std::vector<unsigned> tails_, weights_, distance_;
    std::string facts_, customize_ms_;
    std::unique_ptr<RoutingKit::CustomizableContractionHierarchy> hierarchy_;
    RoutingKit::CustomizableContractionHierarchyParallelization levels_;
    RoutingKit::CustomizableContractionHierarchyMetric metric_;
    std::vector<RoutingKit::CustomizableContractionHierarchyQuery> queries_;  // one per thread
    rival::Queries asked_;
    std::vector<std::vector<unsigned>> paths_;
};

int main(int count, char** arguments)
{
    return rival::serve<Cch>(count, arguments);
}
