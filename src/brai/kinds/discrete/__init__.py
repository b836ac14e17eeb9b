"""Discrete data: codes and counts."""
