"""Graphs: algorithms on adjacency arrays, partially directed graphs, equivalence classes, background knowledge."""
