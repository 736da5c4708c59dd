#include "flow_graphs.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

namespace {

// LLVM writes one statement per line: `digraph "CFG for 'f' function" {`, the blocks in the function's order
// as `Node0x1 [shape=record,...,label="{name:\l...|{<s0>T|<s1>F}}"];`, each before its arcs
// `Node0x1:s0 -> Node0x2;`, and a `}`.

const char NODE[] = "Node";

[[noreturn]] void fail(const std::string& what)
{
    throw std::runtime_error(what);
}

bool starts_with(const std::string& text, const char* start)
{
    return text.compare(0, std::strlen(start), start) == 0;
}

// Returns the text between quotation marks, without LLVM's words around a function's name.
std::string function_name(const std::string& line)
{
    const std::string before = "CFG for '", behind = "' function";
    const size_t begin = line.find('"'), end = line.rfind('"');
    if (begin == end) return "";
    std::string name = line.substr(begin + 1, end - begin - 1);
    if (!starts_with(name, before.c_str()) || name.size() < before.size() + behind.size()) return name;
    return name.substr(before.size(), name.size() - before.size() - behind.size());
}

// Returns what a record's label begins with: the block's name, without the colon of a block with
// instructions.
std::string block_name(const std::string& line)
{
    const char begin[] = "label=\"{";
    size_t i = line.find(begin);
    if (i == std::string::npos) return "";
    std::string name;
    for (i += std::strlen(begin); i < line.size() && !std::strchr("|}\"", line[i]); ++i) {
        if (line[i] == '\\' && ++i < line.size() && (line[i] == 'l' || line[i] == 'n')) break;
        if (i < line.size()) name += line[i];
    }
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty() && name.back() == ':') name.pop_back();
    return name;
}

// Takes a node's id, and the port if it has one, from the front of a line.
std::string take_id(std::string& line)
{
    const std::string id = line.substr(0, line.find_first_of(" \t:;["));
    line.erase(0, std::min(line.size(), line.find_first_of(" \t;[")));
    line.erase(0, std::min(line.size(), line.find_first_not_of(" \t")));
    return id;
}

class DotGraph {
public:
    explicit DotGraph(std::string name) : name_(std::move(name))
    {
    }

    void read(std::string line)
    {
        const std::string id = take_id(line);
        if (!starts_with(line, "->")) {
            if (!numbers_.emplace(id, static_cast<uint32_t>(blocks_.size())).second)
                fail("duplicate block " + id);
            blocks_.push_back(block_name(line));
            return;
        }
        line.erase(0, std::min(line.size(), line.find_first_not_of(" \t", 2)));
        arcs_.push_back({id, take_id(line)});
    }

    void finish(FlowGraphs& graphs)
    {
        std::vector<std::vector<uint32_t>> heads(blocks_.size());
        for (const auto& arc : arcs_) heads[number(arc.first)].push_back(number(arc.second));
        graphs.append(name_, heads);
        graphs.vertex_names.insert(graphs.vertex_names.end(), blocks_.begin(), blocks_.end());
    }

private:
    uint32_t number(const std::string& id) const
    {
        const auto found = numbers_.find(id);
        if (found == numbers_.end())
            fail("an arc of " + name_ + " has the end " + id + ", which is not a block");
        return found->second;
    }

    std::string name_;
    std::vector<std::string> blocks_;
    std::unordered_map<std::string, uint32_t> numbers_;
    std::vector<std::pair<std::string, std::string>> arcs_;
};

void read_dot(std::istream& file, FlowGraphs& graphs)
{
    std::vector<DotGraph> open;  // none or one
    for (std::string line; std::getline(file, line);) {
        line.erase(0, std::min(line.size(), line.find_first_not_of(" \t")));
        if (starts_with(line, "digraph")) {
            if (!open.empty()) fail("a digraph begins before the one before it ends");
            open.emplace_back(function_name(line));
        } else if (starts_with(line, "}") && !open.empty()) {
            open.back().finish(graphs);
            open.clear();
        } else if (starts_with(line, NODE) && !open.empty()) {
            open.back().read(line);
        }
    }
    if (!open.empty()) fail("the file ends within a digraph");
}

// A batch, little-endian: MAGIC, the numbers of graphs, vertices and arcs as int64, first_vertex and
// offsets as int64, targets as uint32, and the graphs' names, each with a zero byte behind it.

const char MAGIC[] = "reldom1\n";

template <class T>
void read_numbers(std::istream& file, size_t count, std::vector<T>& numbers)
{
    // Piece by piece: a count that is wrong ends the file, not the memory.
    const size_t most = 1 << 20;
    numbers.clear();
    while (numbers.size() < count) {
        const size_t begin = numbers.size(), piece = std::min(most, count - begin);
        numbers.resize(begin + piece);
        if (!file.read(reinterpret_cast<char*>(&numbers[begin]), piece * sizeof(T)))
            fail("the batch is truncated");
    }
}

void read_batch(std::istream& file, FlowGraphs& graphs)
{
    std::vector<int64_t> counts;
    read_numbers(file, 3, counts);
    for (int64_t count : counts)
        if (count < 0 || count > 0xffffffff) fail("the batch has a count beyond 32 bits");
    read_numbers(file, counts[0] + 1, graphs.first_vertex);
    read_numbers(file, counts[1] + 1, graphs.offsets);
    read_numbers(file, counts[2], graphs.targets);
    if (graphs.first_vertex.back() != counts[1] || graphs.offsets.back() != counts[2])
        fail("the batch is not as large as it says");
    for (std::string name; std::getline(file, name, '\0');) {
        if (file.eof()) fail("the batch is truncated");
        graphs.names.push_back(name);
    }
    if (graphs.names.size() != static_cast<size_t>(counts[0])) fail("the batch needs one name per graph");
}

}  // namespace

void FlowGraphs::append(std::string name, const std::vector<std::vector<uint32_t>>& heads)
{
    for (const std::vector<uint32_t>& of_vertex : heads) {
        targets.insert(targets.end(), of_vertex.begin(), of_vertex.end());
        offsets.push_back(static_cast<int64_t>(targets.size()));
    }
    first_vertex.push_back(first_vertex.back() + static_cast<int64_t>(heads.size()));
    names.push_back(std::move(name));
}

void read_file(const std::string& path, FlowGraphs& graphs)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) fail(path + ": cannot be read");
    try {
        char start[sizeof MAGIC - 1] = {};
        file.read(start, sizeof start);
        if (std::memcmp(start, MAGIC, sizeof start) == 0) {
            if (!graphs.names.empty()) fail("a batch must be the only file");
            read_batch(file, graphs);
            return;
        }
        if (graphs.vertex_names.size() + 1 != graphs.offsets.size()) fail("a batch must be the only file");
        const size_t before = graphs.names.size();
        file.clear();
        file.seekg(0);
        read_dot(file, graphs);
        if (graphs.names.size() == before) fail("neither a control-flow graph in DOT nor a batch");
    } catch (const std::runtime_error& error) {
        fail(path + ": " + error.what());
    }
}
