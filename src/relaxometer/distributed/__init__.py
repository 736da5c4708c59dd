"""Searches spread over several processes, each with a device of its own and a part of the graph.

``comm``
    the ranks of a job and their exchanges; ``transport``: MPI and NCCL; ``peers``: memory that all ranks of a
    host write to; ``process``: how a rank starts and ends;
``partition``
    which rank has which vertices and arcs;
``graph500``, ``stored``, ``build``
    blocks of a graph, made or read in parts and sent to their ranks: none ever holds the whole graph;
``hybrid_2d``, ``hybrid_peers``, ``sssp_1d``
    the searches; ``levels``: their records of each level;
``certify``
    proofs of their answers, without gathering graph or answer;
``engines``
    the one table of the searches, by problem and name;
``run``
    the program that an MPI launcher starts, and ``launch``, which starts the launcher;
``model``
    predicted costs of searches.
"""
