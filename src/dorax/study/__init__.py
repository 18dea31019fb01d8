"""Experiments as data: running, storing, statistics, figures and the report. Independent of the agents."""
