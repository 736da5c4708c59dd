// Dominators of the functions of a program, as a compiler would ask libreldom for them:
//
//     driver FILE...             prints function, block and immediate dominator, separated by tabs
//     driver --time N FILE...    prints how long N calls take, from arrays in memory to arrays in memory
//
// flow_graphs.hpp says what a file may be. A root is its own dominator; an unreached block has "-".

#include "reldom.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "flow_graphs.hpp"

namespace {

const char USAGE[] =
    "usage: driver [--time N] FILE...   (N from 1; FILE as opt -passes=dot-cfg writes it, or a batch)";
const int WARM_UPS = 3;

struct Arguments {
    long calls = 0;  // to time; 0: print dominators
    std::vector<std::string> files;
};

Arguments parse(int count, char** words)
{
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word == "--time") {
            char* end = nullptr;
            if (++i < count) arguments.calls = std::strtol(words[i], &end, 10);
            if (end == nullptr || arguments.calls <= 0 || *end != '\0') throw std::invalid_argument(USAGE);
        } else if (word.size() > 1 && word[0] == '-' && word[1] == '-') {
            throw std::invalid_argument(USAGE);
        } else {
            arguments.files.push_back(word);
        }
    }
    if (arguments.files.empty()) throw std::invalid_argument(USAGE);
    return arguments;
}

void check(int code)
{
    if (code != RELDOM_OK) throw std::runtime_error(reldom_error(code));
}

class Solver {
public:
    explicit Solver(const FlowGraphs& graphs) : graphs_(graphs), idom_(graphs.offsets.size() - 1)
    {
        reldom_t* opened = nullptr;
        check(reldom_open(&opened, idom_.size(), graphs.targets.size(), graphs.names.size()));
        solver_.reset(opened);
    }

    const std::vector<uint32_t>& solve()
    {
        check(reldom_solve(solver_.get(), graphs_.names.size(), graphs_.first_vertex.data(),
                           graphs_.offsets.data(), graphs_.targets.data(), idom_.data()));
        return idom_;
    }

    const char* device() const
    {
        return reldom_device(solver_.get());
    }

private:
    const FlowGraphs& graphs_;
    std::vector<uint32_t> idom_;
    std::unique_ptr<reldom_t, void (*)(reldom_t*)> solver_{nullptr, reldom_close};
};

void print(const FlowGraphs& graphs, const std::vector<uint32_t>& idom)
{
    for (size_t graph = 0; graph < graphs.names.size(); ++graph) {
        const size_t first = graphs.first_vertex[graph], end = graphs.first_vertex[graph + 1];
        const auto name = [&](size_t v) {
            return graphs.vertex_names.empty() ? std::to_string(v) : graphs.vertex_names[first + v];
        };
        for (size_t v = 0; v < end - first; ++v) {
            const uint32_t above = idom[first + v];
            const std::string named = above == RELDOM_UNREACHED ? "-" : name(above);
            std::printf("%s\t%s\t%s\n", graphs.names[graph].c_str(), name(v).c_str(), named.c_str());
        }
    }
}

void print_times(const FlowGraphs& graphs, Solver& solver, long calls)
{
    using Clock = std::chrono::steady_clock;
    for (int i = 0; i < WARM_UPS; ++i) solver.solve();
    std::vector<double> us;
    for (long i = 0; i < calls; ++i) {
        const Clock::time_point begin = Clock::now();
        solver.solve();
        us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    std::sort(us.begin(), us.end());
    const size_t count = graphs.names.size();
    std::printf("%zu %s, %zu vertices, %zu arcs, on %s\n", count, count == 1 ? "graph" : "graphs",
                graphs.offsets.size() - 1, graphs.targets.size(), solver.device());
    std::printf("host to host, %ld calls: median %.1f us, minimum %.1f us, maximum %.1f us\n", calls,
                us[us.size() / 2], us.front(), us.back());
}

void run(const Arguments& arguments)
{
    FlowGraphs graphs;
    for (const std::string& file : arguments.files) read_file(file, graphs);
    Solver solver(graphs);
    if (arguments.calls == 0) {
        print(graphs, solver.solve());
    } else {
        print_times(graphs, solver, arguments.calls);
    }
}

}  // namespace

int main(int count, char** words)
{
    try {
        run(parse(count, words));
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "driver: %s\n", error.what());
        return 1;
    }
    return 0;
}
