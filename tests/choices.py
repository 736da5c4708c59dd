"""Which candidates the variants that choose have prepared, and what they choose on families of graphs."""

from relaxometer.graphs.survey import Features
from relaxometer.problems.choosing import by_total

FAMILIES = {
    name: Features(n, m, with_arcs, largest, ends, crossing, one_way, depth)
    for name, n, m, with_arcs, largest, ends, crossing, one_way, depth in [
        ("city", 264_346, 730_100, 264_346, 8, 3.1, 0.09, 0, 413),
        ("roads", 1_524_453, 3_868_020, 1_524_453, 9, 2.9, 0.46, 0, 1218),
        ("long roads", 1_427_876, 4_581_208, 1_427_876, 12, 3.5, 0.09, 0, 44),
        ("grid", 1_000_000, 3_996_000, 1_000_000, 4, 4, 0.06, 0, 692),
        ("cube", 262_144, 1_548_288, 262_144, 6, 5.9, 0.33, 0, 143),
        ("triangulation", 1_048_576, 6_291_388, 1_048_576, 22, 6.3, 0.99, 0, 442),
        ("nearest neighbours", 262_144, 2_420_006, 262_144, 17, 9.4, 0.99, 0, 207),
        ("small world", 262_144, 2_621_434, 262_144, 16, 10.1, 0.1, 0, 20),
        ("random", 262_144, 1_572_832, 261_486, 20, 7, 0.99, 0, 14),
        ("dense random", 1_048_576, 16_777_092, 1_048_576, 38, 17, 0.99, 0, 6),
        ("preferential attachment", 1_048_576, 16_775_374, 1_048_576, 11_689, 71, 0.98, 0, 6),
        ("Kronecker", 262_144, 7_610_044, 173_692, 25_029, 1245, 1, 0, 6),
        ("pages", 524_288, 3_349_551, 524_288, 64, 10.3, 0.21, 0.98, 20),
        ("star", 1_048_576, 2_097_150, 1_048_576, 1_048_575, 524_288, 1, 0, 3),
        ("tree", 1_048_575, 2_097_148, 1_048_575, 3, 2.5, 0.99, 0, 90),
        ("caterpillar", 131_072, 262_142, 131_072, 3, 2.5, 0.49, 0, 32_768),
    ]
}
"""Features of generated graphs and two maps, as the survey found them."""


def variants_for(expected_costs, family):
    """Return the variants of the least expected totals of 1, 10, 100 and 1,000 searches, each once."""
    costs = expected_costs(FAMILIES[family])
    return list(dict.fromkeys(by_total(costs, searches)[0] for searches in (1, 10, 100, 1000)))


def prepared(monkeypatch, candidates):
    """List the names of the candidates, modules by name, whose preparation ends."""
    names = []
    for name, module in candidates.items():

        def begin(self, *args, name=name, begin=module.Solver.__init__):
            begin(self, *args)
            names.append(name)

        monkeypatch.setattr(module.Solver, "__init__", begin)
    return names
