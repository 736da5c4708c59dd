// Wasp, as its own program calls it. Its source is a program, whose `main` gets another name here.
#define main wasp_main
#include "wasp/src/sssp.cc"
#undef main

#include "gap.hpp"

#include <memory>

class Wasp : public rival::Adapter {
public:
    Wasp(const rival::Graph& graph, const rival::Job& job)
        : graph_(graph),
          delta_(static_cast<WeightT>(job.number("delta", 1))),
          heaviest_(gap::heaviest(graph, DIST_INF))
    {
        numa_distance_map::initialize();
        wasp_graph_ = gap::make_graph<WGraph, WNode>(graph, [&graph](uint32_t head, int64_t arc) {
            return WNode(static_cast<NodeID>(head), static_cast<WeightT>(graph.weights[arc]));
        });
    }

    std::string facts() const override
    {
        return "";
    }

    void solve(int64_t source) override
    {
        before_ = std::move(last_);  // freed with the answer: Wasp frees answers outside its clock, too
        last_.reset(new Found(DeltaStep(wasp_graph_, static_cast<NodeID>(source), delta_)));
    }

    void answer(rival::Answer& out) override
    {
        before_.reset();
        out.column("distance", gap::finite(graph_, *last_, DIST_INF, heaviest_));
    }

private:
    using Found = parallel::atomics_array<WeightT>;
    const rival::Graph& graph_;
    WeightT delta_;
    int64_t heaviest_;
    WGraph wasp_graph_;
    std::unique_ptr<Found> last_, before_;
};

int main(int count, char** arguments)
{
    return rival::serve<Wasp>(count, arguments);
}
