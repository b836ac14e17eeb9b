"""Posterior over structures, and what follows from it."""
