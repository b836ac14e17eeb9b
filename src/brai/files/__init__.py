"""Saving and loading models, and exchange with other software."""
