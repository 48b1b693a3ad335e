"""Time and memory of howlearn, as ratios within one run: ``python -m benchmarks [NAME ...]``."""
