// Delta-stepping and the direction-optimizing search of the GAP Benchmark Suite, as its own programs call
// them. GAP's sources are programs, whose `main` gets another name here.
#define main gap_sssp
#include "gapbs/src/sssp.cc"
#undef main
#define main gap_bfs
#include "gapbs/src/bfs.cc"
#undef main

#include "gap.hpp"

#include <memory>

// Keeps the answer before the last one until it is free to go: GAP frees answers outside its clock, too.
template <typename Values>
struct Answers {
    std::unique_ptr<pvector<Values>> last, before;

    void add(pvector<Values> found)
    {
        before = std::move(last);
        last = std::make_unique<pvector<Values>>(std::move(found));
    }
};

class DeltaStepping : public rival::Adapter {
public:
    DeltaStepping(const rival::Graph& graph, const rival::Job& job)
        : graph_(graph),
          delta_(static_cast<WeightT>(job.number("delta", 1))),
          heaviest_(gap::heaviest(graph, kDistInf))
    {
        gap_graph_ = gap::make_graph<WGraph, WNode>(graph, [&graph](uint32_t head, int64_t arc) {
            return WNode(static_cast<NodeID>(head), static_cast<WeightT>(graph.weights[arc]));
        });
    }

    std::string facts() const override
    {
        return "";
    }

    void solve(int64_t source) override
    {
        answers_.add(DeltaStep(gap_graph_, static_cast<NodeID>(source), delta_));
    }

    void answer(rival::Answer& out) override
    {
        answers_.before.reset();
        out.column("distance", gap::finite(graph_, *answers_.last, kDistInf, heaviest_));
    }

private:
    const rival::Graph& graph_;
    WeightT delta_;
    int64_t heaviest_;
    WGraph gap_graph_;
    Answers<WeightT> answers_;
};

class DirectionOptimizing : public rival::Adapter {
public:
    DirectionOptimizing(const rival::Graph& graph, const rival::Job&)
        : gap_graph_(gap::make_graph<Graph, NodeID>(
              graph, [](uint32_t head, int64_t) { return static_cast<NodeID>(head); }))
    {
    }

    std::string facts() const override
    {
        return "";
    }

    void solve(int64_t source) override
    {
        source_ = source;
        answers_.add(DOBFS(gap_graph_, static_cast<NodeID>(source)));
    }

    // Levels follow from the parents.
    void answer(rival::Answer& out) override
    {
        answers_.before.reset();
        const pvector<NodeID>& parent = *answers_.last;
        std::vector<uint32_t> predecessor(parent.size(), rival::none), level(parent.size(), rival::none);
        std::vector<uint32_t> path;
        level[source_] = 0;
        for (size_t v = 0; v < predecessor.size(); ++v) {
            if (parent[v] < 0) continue;
            predecessor[v] = static_cast<uint32_t>(parent[v]);
            uint32_t u = static_cast<uint32_t>(v);
            for (; level[u] == rival::none; u = static_cast<uint32_t>(parent[u])) path.push_back(u);
            for (uint32_t above = level[u]; !path.empty(); path.pop_back()) level[path.back()] = ++above;
        }
        out.column("level", level);
        out.column("predecessor", predecessor);
    }

private:
    Graph gap_graph_;
    int64_t source_ = 0;
    Answers<NodeID> answers_;
};

int main(int count, char** arguments)
{
    const bool finds_levels = count > 2 && std::string(arguments[2]) == "bfs";
    return finds_levels ? rival::serve<DirectionOptimizing>(count, arguments)
                        : rival::serve<DeltaStepping>(count, arguments);
}
