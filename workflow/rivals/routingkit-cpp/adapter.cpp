// RoutingKit's customizable contraction hierarchies, customized on all threads; a query with all vertices as
// targets, which RoutingKit answers on one core. The order, which RoutingKit leaves to the user, is METIS's
// nested dissection. A query reads the weights of its metric, so new weights need no new query.

#include "rival.hpp"

#include <algorithm>
#include <memory>
#include <metis.h>
#include <numeric>
#include <routingkit/customizable_contraction_hierarchy.h>

constexpr uint32_t infinite = INT32_MAX;  // RoutingKit's own
constexpr const char* limit = "RoutingKit's distances and weights stay below 2,147,483,647";

class Cch : public rival::Adapter {
public:
    Cch(const rival::Graph& graph, const rival::Job& job)
        : graph_(graph),
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
        rival::Stopwatch choosing;
        std::vector<unsigned> all(graph_.vertices());
        std::iota(all.begin(), all.end(), 0);
        query_.reset(metric_).pin_targets(all);
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

    void solve(int64_t source) override
    {
        query_.reset_source().add_source(static_cast<unsigned>(source));
        query_.run_to_pinned_targets().get_distances_to_targets(distance_.data());
    }

    void answer(rival::Answer& out) override
    {
        for (size_t arc = 0; arc < tails_.size(); ++arc)
            if (distance_[graph_.targets[arc]] == infinite && distance_[tails_[arc]] < infinite)
                throw rival::Skipped(limit);
        std::vector<int64_t> distance(distance_.begin(), distance_.end());
        std::replace(distance.begin(), distance.end(), int64_t{infinite}, int64_t{-1});
        out.column("distance", distance);
    }

private:
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
    unsigned threads_;
    std::vector<unsigned> tails_, weights_, distance_;
    std::string facts_, customize_ms_;
    std::unique_ptr<RoutingKit::CustomizableContractionHierarchy> hierarchy_;
    RoutingKit::CustomizableContractionHierarchyParallelization levels_;
    RoutingKit::CustomizableContractionHierarchyMetric metric_;
    RoutingKit::CustomizableContractionHierarchyQuery query_;
};

int main(int count, char** arguments)
{
    return rival::serve<Cch>(count, arguments);
}
