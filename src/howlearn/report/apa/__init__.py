"""The results as tables in APA style, for Word and LaTeX."""
