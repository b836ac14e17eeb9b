"""The report of a fitted model: one self-contained HTML file with its graph and probabilities, by `write`."""

from brai.show.report.build import page, page_data, write

__all__ = ["page", "page_data", "write"]
