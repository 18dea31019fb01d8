"""Formulas as MathML, which browsers draw themselves: no script, and nothing to fetch."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(mathml(node, as_block=True))
    raise nodes.SkipNode


def mathml(node: nodes.Element, as_block: bool) -> str:
    try:
        written = latex2mathml.tex2mathml(node.astext(), as_block=as_block)
        return written.replace("<mo>'</mo>", '<mo lspace="0" rspace="0">′</mo>')
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", node.astext(), error, location=node)
        return node.astext()
