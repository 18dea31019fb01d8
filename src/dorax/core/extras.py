"""Optional packages: `dorax[paper]`, `dorax[sb3]` and the other extras bring them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from dorax.core.checks import InvalidInput


@contextmanager
def needing(extra: str) -> Generator[None]:
    """Convert a failed import in the block to a one-line `InvalidInput` that says how to install what is missing.

    Args:
        extra: the extra of dorax that brings the packages imported in the block.

    Raises:
        InvalidInput: if one of them, or a package that they import, is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0].replace("_", "-")
        if package == "dorax":
            raise
        raise InvalidInput(f"{package} is not installed; install it with pip install 'dorax[{extra}]'") from None
