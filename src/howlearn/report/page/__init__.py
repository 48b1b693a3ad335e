"""One HTML file that shows the results of a selection, without a network."""
