// The adapter's side of the protocol in docs/rivals.md, for C++ programs.
//
// An adapter is a class and one call:
//
//   struct Mine : rival::Adapter {
//       Mine(const rival::Graph& graph, const rival::Job& job) { ... }      // timed as loading
//       void solve(int64_t source) override { ... }                         // timed
//       void answer(rival::Answer& out) override { out.column("distance", distance); }
//   };
//   int main(int count, char** arguments) { return rival::serve<Mine>(count, arguments); }
//
// Messages go over the standard output that the process started with; whatever a library prints goes to the
// standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace rival {

constexpr uint32_t none = UINT32_MAX;

// The rival does not suit the graph, and why.
struct Skipped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <typename Value>
std::vector<Value> read_array(const std::string& path)
{
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw std::runtime_error(path + " cannot be read");
    std::vector<Value> values(static_cast<size_t>(file.tellg()) / sizeof(Value));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(Value)));
    return values;
}

inline bool says(const std::string& path, const std::string& words)
{
    const std::vector<char> text = read_array<char>(path);
    return std::string(text.begin(), text.end()).find(words) != std::string::npos;
}

// The graph of a job, or a batch of graphs end to end. The arcs of vertex v are offsets[v] to
// offsets[v + 1] - 1. Graph g of a batch has the vertices first_vertex[g] to first_vertex[g + 1] - 1; targets
// and entries count within it. A graph is its own only part and has no entry; a batch has no weights. Every
// arc of a graph that is not `directed` has its reverse, of the same weight.
struct Graph {
    std::string folder;
    bool directed;
    std::vector<int64_t> offsets, first_vertex;
    std::vector<uint32_t> targets, weights, entries;

    explicit Graph(const std::string& where)
        : folder(where),
          directed(!says(where + "/graph.json", "\"directed\": false")),
          offsets(read_array<int64_t>(where + "/offsets.i64")),
          targets(read_array<uint32_t>(where + "/targets.u32"))
    {
        if (std::ifstream(where + "/entries.u32")) {
            first_vertex = read_array<int64_t>(where + "/first_vertex.i64");
            entries = read_array<uint32_t>(where + "/entries.u32");
        } else {
            first_vertex = {0, static_cast<int64_t>(vertices())};
            weights = read_array<uint32_t>(where + "/weights.u32");
        }
    }

    size_t parts() const
    {
        return first_vertex.size() - 1;
    }
    size_t vertices() const
    {
        return offsets.size() - 1;
    }
    size_t arcs() const
    {
        return targets.size();
    }
};

// The problem, and the parameters as the configuration has them.
struct Job {
    std::string problem;
    std::map<std::string, std::string> parameters;

    std::string text(const std::string& name, const std::string& otherwise) const
    {
        auto found = parameters.find(name);
        return found == parameters.end() ? otherwise : found->second;
    }
    double number(const std::string& name, double otherwise) const
    {
        auto found = parameters.find(name);
        return found == parameters.end() ? otherwise : std::stod(found->second);
    }
};

// A set of point-to-point queries. Of a table, query i is from its row i / columns to its column i % columns;
// columns are 0 for other sets. Paths longer than the cutoff count as none.
struct Queries {
    std::vector<uint32_t> origins, targets;
    uint32_t columns = 0, cutoff = UINT32_MAX - 1;
    bool paths = false;

    Queries() = default;
    explicit Queries(const std::string& where)
        : origins(read_array<uint32_t>(where + "/origins.u32")),
          targets(read_array<uint32_t>(where + "/targets.u32"))
    {
        std::ifstream options(where + "/options.txt");
        for (std::string name, value; std::getline(std::getline(options, name, '='), value);) {
            const auto number = static_cast<uint32_t>(std::stoul(value));
            if (name == "columns") columns = number;
            if (name == "cutoff") cutoff = number;
            if (name == "paths") paths = number != 0;
        }
    }
};

// Where the columns of an answer go, each with one value per vertex, or per query.
class Answer {
public:
    explicit Answer(std::string folder) : folder_(std::move(folder))
    {
    }

    template <typename Value>
    void column(const std::string& name, const std::vector<Value>& values)
    {
        static_assert(std::is_arithmetic<Value>::value, "a column holds numbers");
        const char kind = std::is_floating_point<Value>::value ? 'f'
                          : std::is_signed<Value>::value       ? 'i'
                                                               : 'u';
        std::ofstream file(folder_ + "/" + name + "." + kind + std::to_string(8 * sizeof(Value)),
                           std::ios::binary);
        file.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(Value)));
        if (!file.flush()) throw std::runtime_error("the answer cannot be written");
    }

private:
    std::string folder_;
};

struct Adapter {
    // Whether an object may be made anew in one process, as `call` does; false for a program that keeps state
    // outside of it.
    static constexpr bool rebuilds = true;

    virtual ~Adapter() = default;
    virtual std::string facts() const
    {
        return "version=unknown";
    }  // words name=value
    virtual void prepare()
    {
    }
    // New weights of the same arcs, converted untimed; and the searches' change to them, timed. For adapters
    // whose definition says `customizes: true`.
    virtual void take(std::vector<uint32_t>)
    {
        throw std::runtime_error("the adapter does not take new weights");
    }
    virtual void customize()
    {
    }
    virtual void solve(int64_t source) = 0;  // -1 if there is no source
    virtual void fetch()  // to host memory, what a search left on a GPU: the end of a call, before `answer`
    {
    }
    virtual void answer(Answer& out) = 0;
    virtual void ask(Queries)  // untimed; the next search answers them, and its source is their number
    {
        throw std::runtime_error("the adapter does not answer queries");
    }
};

class Stopwatch {
public:
    std::string ms() const
    {
        std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin_;
        return std::to_string(passed.count());
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

inline void say(FILE* messages, const std::string& line)
{
    std::fprintf(messages, "%s\n", line.c_str());
    std::fflush(messages);
}

// A reason on one line, of the length that a message may have.
inline std::string one_line(std::string text)
{
    for (char& letter : text)
        if (letter == '\n' || letter == '\r') letter = ' ';
    return text.substr(0, 500);
}

template <typename Mine>
void answer_messages(FILE* messages, const std::string& folder, const Job& job)
{
    Stopwatch loading;
    const Graph graph(folder);
    auto mine = std::make_unique<Mine>(graph, job);
    std::unique_ptr<Queries> queries;
    say(messages, "loaded " + loading.ms() + (Mine::rebuilds ? " rebuilds" : ""));
    Stopwatch preparing;
    mine->prepare();
    say(messages, "ready " + preparing.ms() + " " + mine->facts());
    std::string line;
    while (std::getline(std::cin, line)) {
        const size_t space = line.find(' ');
        const std::string word = line.substr(0, space);
        const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
        const auto source = [&rest] { return rest.empty() ? -1 : std::stoll(rest); };
        if (word == "solve") {
            Stopwatch search;
            mine->solve(source());
            say(messages, "done " + search.ms());
        } else if (word == "clear") {
            mine.reset();
            say(messages, "cleared");
        } else if (word == "call") {
            Stopwatch building;
            mine = std::make_unique<Mine>(graph, job);
            say(messages, "built " + building.ms());
            Stopwatch answering;
            mine->prepare();
            const std::string prepared = answering.ms();
            if (queries) mine->ask(*queries);
            mine->solve(source());
            const std::string solved = answering.ms();
            mine->fetch();
            say(messages, "called " + answering.ms() + " prepared=" + prepared + " solved=" + solved);
        } else if (word == "give") {
            Answer out(rest);
            mine->fetch();
            mine->answer(out);
            say(messages, "given");
        } else if (word == "weights") {
            mine->take(read_array<uint32_t>(rest));
            say(messages, "taken");
        } else if (word == "customize") {
            Stopwatch customizing;
            mine->customize();
            say(messages, "customized " + customizing.ms() + " " + mine->facts());
        } else if (word == "ping") {
            say(messages, "pong");
        } else if (word == "queries") {
            queries = std::make_unique<Queries>(rest);
            mine->ask(*queries);
            say(messages, "taken");
        } else if (word == "end") {
            return;
        }
    }
}

template <typename Mine>
int serve(int count, char** arguments)
{
    FILE* messages = fdopen(dup(1), "w");
    dup2(2, 1);
    if (count < 3) {
        std::fprintf(stderr, "usage: %s FOLDER PROBLEM [NAME=VALUE]...\n", arguments[0]);
        return 2;
    }
    Job job{arguments[2], {}};
    for (int i = 3; i < count; ++i) {
        const std::string option = arguments[i];
        const size_t equals = option.find('=');
        job.parameters[option.substr(0, equals)] =
            equals == std::string::npos ? "" : option.substr(equals + 1);
    }
    try {
        answer_messages<Mine>(messages, arguments[1], job);
        return 0;
    } catch (const Skipped& why) {
        say(messages, "skipped " + one_line(why.what()));
    } catch (const std::bad_alloc&) {
        say(messages, "oom out of memory");
    } catch (const std::exception& error) {
        say(messages, "error " + one_line(error.what()));
    }
    return 1;
}

}  // namespace rival
