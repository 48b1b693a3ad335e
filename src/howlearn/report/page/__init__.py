"""One HTML file that shows the results of a selection, without a network."""

from howlearn.report.page.page import Page, page

__all__ = ["Page", "page"]
