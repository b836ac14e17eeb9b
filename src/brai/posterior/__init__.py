"""Posteriors over structures: computation, features, prediction and causal effects."""
