"""Search for the graph of highest score."""
