"""Benchmarks, reported as ratios."""
