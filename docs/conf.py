"""The site: these pages, pictures that their own code draws, and the reference from the docstrings."""

import os
import sys
from importlib.metadata import version as installed
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # pictures are drawn from small runs, the same on any machine
sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "dorax"
author = "the dorax developers"
project_copyright = author
release = version = installed("dorax")

extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings", "drawn", "mathml", "written"]
exclude_patterns = ["extensions"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autodoc_mock_imports = ["torch", "stable_baselines3"]  # a large download, not needed to read docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what goes in
autodoc_class_signature = "mixed"

html_theme = "furo"
html_title = f"dorax {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}
