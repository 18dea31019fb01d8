"""Docstrings are plain prose with `names` in backticks, and Google-style sections: say the same in reStructuredText.

Indented blocks become literal ones, names become code, and those that the reference has
become links to it. Sections (`Args:`, `Returns:`, ...) are left to napoleon, which comes
after.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Iterable
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import signature, stringify_signature

import dorax

_CODE = re.compile(r"(`[^`]+`)")
_BULLET = re.compile(r"\s*([-*]|\d+\.) ")
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):$")
_EMPHASIS = re.compile(r"((?<![\w*])\*\w(?:[^*]*\w)?\*(?![\w*]))")
_BEFORE_NAPOLEON = 400


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process, priority=_BEFORE_NAPOLEON)
    app.connect("autodoc-process-signature", readable_signature)
    app.connect("autodoc-skip-member", skip_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def process(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if what == "class" and "Args:" not in lines:
        lines += _inherited_sections(thing)
    lines[:] = as_rest(lines)


def _inherited_sections(thing: Any) -> list[str]:
    """The arguments and attributes of a wrapper, which the class with its options describes."""
    for base in getattr(thing, "__mro__", ())[1:]:
        if base.__module__ == "dorax.wrappers.options" and "Args:" in (text := inspect.getdoc(base) or ""):
            return ["", *text[text.index("Args:") :].splitlines(), ""]
    return []


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


def skip_field(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples: the signature has them."""
    return True if (inspect.getdoc(thing) or "").startswith("Alias for field number") else None


def readable_signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, shown: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """A signature with aliases and constants as a reader writes them."""
    if getattr(thing, "_is_protocol", False) and what == "class":
        return "", None
    if what == "class" and str(getattr(thing.__init__, "__module__", "")).startswith("dorax"):
        shown = _with_mocked_base(thing, app.config.autodoc_type_aliases) or shown
    constants = vars(sys.modules.get(getattr(thing, "__module__", None) or "", dorax))
    return _plain(shown, constants), _plain(returns, constants)


def _with_mocked_base(thing: type, aliases: dict[str, str]) -> str | None:
    """The signature of a class whose base is mocked, for which autodoc shows none."""
    if not any("_MockObject" in str(base) for base in type.mro(thing)):
        return None
    parameters = signature(thing.__init__, bound_method=True, type_aliases=aliases).parameters.values()
    shown = inspect.Signature([each for each in parameters if not each.name.startswith("_")])
    return stringify_signature(shown, unqualified_typehints=True)


def _plain(shown: str | None, constants: dict[str, Any]) -> str | None:
    if shown is None:
        return None
    shown = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", shown)
    shown = re.sub(r"\bjaxlib\._jax\.Array|\bJaxArray\b", "Array", shown)
    shown = re.sub(r"<function (\w+)[^>]*>", r"\1", shown.replace("<factory>", "..."))
    return re.sub(r"(?<== )_[A-Z_]+\b", lambda found: repr(constants.get(found[0], found[0])), shown)


def _named(code: str) -> str:
    if re.fullmatch(r"dorax(\.\w+)+", code):
        return f":py:obj:`{code}`"
    # A word in lower case that dorax has may also be an argument: not a link.
    is_link = code in dorax.__all__ and code[0].isupper()
    return f":py:obj:`{code} <dorax.{code}>`" if is_link else f"``{code}``"


def _escaped(text: str) -> str:
    """All that reStructuredText would read as markup, but for *emphasis*."""
    parts = _EMPHASIS.split(text)
    parts[::2] = [re.sub(r"([*|\\]|(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)
