"""Search over any space: beam search, graphs, n-best lists, lattices and their oracles."""
