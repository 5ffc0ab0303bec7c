"""The hierarchical model of Watanabe et al. (2007): rules in target normal form, translated from left to right."""
