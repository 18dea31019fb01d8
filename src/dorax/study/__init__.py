"""Experiments as data: runs, store, statistics, figures, report. Knows no agent."""
