"""Graphs: algorithms on adjacency arrays, PDAGs, equivalence classes, background knowledge."""
