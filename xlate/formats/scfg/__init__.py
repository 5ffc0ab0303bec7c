"""Grammars of other systems: Moses's hierarchical format, cdec's and Joshua's."""
