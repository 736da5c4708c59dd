"""Searches spread over several processes, each with a device of its own and a part of the graph.

``comm`` has the ranks of a job and their exchanges by ``transport``, ``peers`` memory to which all ranks of a
host write. ``partition`` says which rank has which vertices and arcs; ``graph500``, ``stored`` and ``build``
make blocks of a graph in parts. ``engines`` lists the searches, ``certify`` proves their answers, ``run`` is
the program of a rank, and ``model`` predicts costs.
"""
