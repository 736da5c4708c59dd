"""Which candidates the variants that choose have prepared."""


def prepared(monkeypatch, candidates):
    """List the names of the candidates, modules by name, whose preparation ends."""
    names = []
    for name, module in candidates.items():

        def begin(self, *args, name=name, begin=module.Solver.__init__):
            begin(self, *args)
            names.append(name)

        monkeypatch.setattr(module.Solver, "__init__", begin)
    return names
