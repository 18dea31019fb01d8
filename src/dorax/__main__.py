"""The command `dorax`; where only the library is installed, one line says what else it needs."""

from __future__ import annotations

import sys

from dorax.core.checks import InvalidInput
from dorax.core.extras import needing


def main() -> None:
    """Run the command line with the arguments of the process."""
    try:
        with needing("paper"):
            from dorax import cli
    except InvalidInput as error:
        print(f"dorax: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    cli.main()


if __name__ == "__main__":
    main()
