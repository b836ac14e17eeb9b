"""Kinds of data."""
