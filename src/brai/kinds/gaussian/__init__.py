"""Measurements: real numbers with a joint normal distribution, known by their means and covariances."""
