"""Many learners side by side: lanes, devices, chunks, probes."""
