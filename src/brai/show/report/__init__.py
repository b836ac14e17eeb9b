"""One self-contained HTML file that shows what was learned and how sure it is: `write`."""

from brai.show.report.build import page, page_data, write

__all__ = ["page", "page_data", "write"]
