"""A neural joint model: the next target word from the words before it and the source words around it."""
