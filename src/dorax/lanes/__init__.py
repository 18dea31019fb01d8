"""What every engine runs on: settings stacked for a sweep, lanes dealt out over devices, episodes of environments."""
