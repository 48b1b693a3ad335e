"""Compiled loops: replay, play and the exact fits of cells. Knows arrays only."""
