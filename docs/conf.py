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

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docstrings", "drawn", "mathml", "written"]
exclude_patterns = ["extensions"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autodoc_mock_imports = ["torch", "stable_baselines3"]  # a large download, not needed to read docstrings
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False  # those of other packages are not written in our markup
# Type aliases that are shown by name rather than expanded.
_ALIASES = (
    "ApproximableCounter", "Array", "Bonus", "Counter", "Features", "Observation", "Policy", "PRNGKeyArray", "Progress",
    "Rule", "Scale", "UpdateRule",
)  # fmt: skip
autodoc_type_aliases = {name: name for name in _ALIASES}
python_maximum_signature_line_length = 100
nitpick_ignore_regex = [
    ("py:class", r"(?!dorax\.).*"),  # types of other packages, whose references are not at hand
    ("py:class", r"dorax\..*\.(\w*State|\w+Params|Memory|Network|Book|Dictionary|EnvT|Visit)"),  # internal states
]

napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # types stand in the signature
napoleon_use_rtype = False

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
