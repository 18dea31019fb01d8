"""Experiments as data: running, storing, statistics, figures and the report. Independent of the agents."""

from importlib import import_module

from dorax.core.extras import needing

with needing("paper"):
    for _name in ("h5netcdf", "jinja2", "matplotlib", "rich"):
        import_module(_name)
