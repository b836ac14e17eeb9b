"""Saved models, and exchange with other software."""
