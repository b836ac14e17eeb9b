"""B-RAI: conditional independence tests, RAI, the graph generative tree, and sampling from it."""
