"""B-RAI: tests of independence, RAI, the graph generative tree, draws from it."""
