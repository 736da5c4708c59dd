// Flow graphs as the driver reads them from files.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

// A batch as reldom_solve takes it, with names.
struct FlowGraphs {
    std::vector<int64_t> first_vertex = {0};
    std::vector<int64_t> offsets = {0};
    std::vector<uint32_t> targets;
    std::vector<std::string> names;         // of graphs
    std::vector<std::string> vertex_names;  // none if the vertices have only numbers

    // Appends a graph: the heads of the arcs of each vertex.
    void append(std::string name, const std::vector<std::vector<uint32_t>>& heads);
};

// Appends the graphs of a file: control-flow graphs in DOT as LLVM's passes dot-cfg and dot-cfg-only write
// them, or a batch that `relaxometer export-batch` wrote. Throws std::runtime_error with one
// line that names the file.
void read_file(const std::string& path, FlowGraphs& graphs);
