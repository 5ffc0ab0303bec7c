"""Search over any space: beam, graph, n-best lists, lattices and their oracles."""
