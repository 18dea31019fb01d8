"""Docstrings are plain prose with `names` in backticks, and Google-style sections: say the same in reStructuredText.

Indented blocks become literal ones, names become code, and those that the reference has
become links to it. Sections (`Args:`, `Returns:`, ...) are left to napoleon, which comes
after. Signatures show the keyword arguments that wrappers pass on.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import signature, stringify_signature

import dorax

_CODE = re.compile(r"(`[^`]+`)")
_BULLET = re.compile(r"\s*([-*]|\d+\.) ")
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):$")
_BEFORE_NAPOLEON = 400


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process, priority=_BEFORE_NAPOLEON)
    app.connect("autodoc-process-signature", real_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def process(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rest(lines)


def as_rest(lines: list[str]) -> list[str]:
    """The same docstring in reStructuredText."""
    written: list[str] = []
    is_literal = is_prose = False
    for number, line in enumerate(lines):
        is_indented = line.startswith(" ")
        if line and not is_indented:
            is_literal, is_prose = False, bool(_BULLET.match(line) or _SECTION.match(line))
        elif is_indented and not is_literal and not is_prose and (not written or not written[-1]):
            block = itertools.takewhile(lambda later: not later or later.startswith(" "), lines[number:])
            written += [f".. code-block:: {language(block)}", ""]
            is_literal = True
        written.append(line if is_literal else prose(line))
    return written


def language(block: Iterable[str]) -> str:
    """Python, if Python can read it; a formula is text."""
    try:
        ast.parse(textwrap.dedent("\n".join(block)))
    except SyntaxError:
        return "text"
    return "python"


def prose(line: str) -> str:
    """Backticks as code or as links; nothing else means anything."""
    bullet = _BULLET.match(line)
    head = bullet.group() if bullet else ""
    parts = _CODE.split(line.removeprefix(head))
    return head + "".join(_named(part[1:-1]) if _CODE.fullmatch(part) else _escaped(part) for part in parts)


def real_signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, shown: str | None, returns: str | None
) -> tuple[str | None, str | None] | None:
    """The signature of a class that passes options on to `Exploration`, with these options spelled out."""
    if what != "class" or "__init__" not in vars(thing):
        return None
    own = signature(thing.__init__, bound_method=True, type_aliases=app.config.autodoc_type_aliases)
    passed_on = [each for each in own.parameters.values() if each.name == "options" and each.kind is each.VAR_KEYWORD]
    if not passed_on:
        return None
    parameters = [each for each in own.parameters.values() if each not in passed_on]
    if "Options" in str(passed_on[0].annotation):
        theirs = signature(
            dorax.Exploration.__init__, bound_method=True, type_aliases=app.config.autodoc_type_aliases
        ).parameters.values()
        parameters += [each for each in theirs if each.kind is each.KEYWORD_ONLY]
    else:
        parameters += passed_on
    whole = inspect.Signature(parameters)
    return stringify_signature(whole, unqualified_typehints=True), None


def _named(code: str) -> str:
    if re.fullmatch(r"dorax(\.\w+)+", code):
        return f":py:obj:`{code}`"
    # A word in lower case that dorax has may also be an argument: not a link.
    is_link = code in dorax.__all__ and code[0].isupper()
    return f":py:obj:`{code} <dorax.{code}>`" if is_link else f"``{code}``"


def _escaped(text: str) -> str:
    return re.sub(r"([*|\\]|(?<=\w)_(?!\w))", r"\\\1", text)
