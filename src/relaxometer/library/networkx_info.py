"""What networkx reads of the backend whenever it is imported; it loads nothing else."""

from typing import Any

FUNCTIONS = (
    *("immediate_dominators", "dominance_frontiers"),
    *("dijkstra_path", "dijkstra_path_length"),
    *("single_source_dijkstra", "single_source_dijkstra_path", "single_source_dijkstra_path_length"),
    *("multi_source_dijkstra", "multi_source_dijkstra_path", "multi_source_dijkstra_path_length"),
    *("all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length"),
    *("bellman_ford_path", "bellman_ford_path_length", "all_pairs_bellman_ford_path_length"),
    *("single_source_bellman_ford", "single_source_bellman_ford_path"),
    *("single_source_bellman_ford_path_length", "negative_edge_cycle", "find_negative_cycle"),
    *("single_source_shortest_path_length", "all_pairs_shortest_path_length"),
    *("bfs_edges", "bfs_tree", "bfs_predecessors", "bfs_successors", "bfs_layers"),
    *("eccentricity", "diameter", "radius", "closeness_centrality", "harmonic_centrality"),
)


def get_info() -> dict[str, Any]:
    """Describe the backend; networkx finds this function by an entry point."""
    return {
        "backend_name": "relaxometer",
        "project": "relaxometer",
        "package": "relaxometer",
        "short_summary": "Shortest paths, searches and dominators by compiled solvers or on a GPU.",
        "functions": {name: {} for name in FUNCTIONS},
    }
