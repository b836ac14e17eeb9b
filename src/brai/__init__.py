"""Bayesian-network structures from data, and how sure they are (B-RAI, NeurIPS 2018)."""

__version__ = "0.1.0"
