"""The directive `drawn`: code, and below it the picture that this very code has drawn while the site was built."""

from __future__ import annotations

import hashlib
import os
import traceback
from pathlib import Path
from typing import Any, ClassVar

import matplotlib
from cycler import cycler
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dorax.study.figures import COLOURS

# All pictures of the site look alike, so that the code on a page says what is drawn and not how.
STYLE = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "figure.constrained_layout.use": True,
    "figure.figsize": (6.0, 2.8),
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "svg.fonttype": "path",
}


class Drawn(SphinxDirective):
    """The argument is the caption, the content the code."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = {}

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content) + "\n"
        try:
            picture = draw(code, Path(self.env.doctreedir) / "drawn")
        except Exception:
            raise self.error(f"the code of this picture fails:\n{traceback.format_exc()}") from None
        shown = nodes.literal_block(code, code, language="python")
        self.set_source_info(shown)
        caption, _ = self.state.inline_text(self.arguments[0], self.lineno)
        image = nodes.image(uri="/" + os.path.relpath(picture, self.env.srcdir), alt=_plain(caption))
        return [shown, nodes.figure("", image, nodes.caption("", "", *caption))]


def draw(code: str, folder: Path) -> Path:
    """The picture that the code leaves as matplotlib's current figure; the same file for the same code."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    name = hashlib.sha256(code.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    style: dict[Any, Any] = {**STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style):
        try:
            exec(compile(code, "<drawn>", "exec"), {})
            pyplot.gcf().savefig(folder / f"{name}.svg", metadata={"Date": None})
        finally:
            pyplot.close("all")
    return folder / f"{name}.svg"


def _plain(caption: list[nodes.Node]) -> str:
    return "".join(node.astext() for node in caption)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
