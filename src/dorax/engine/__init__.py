"""Training of many learners in parallel: lanes, drivers, probes, results."""
