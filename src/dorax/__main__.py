"""The command `dorax`; where only the library is installed, one line says what else it needs.

Until a command runs, and after it, Ctrl-C and SIGTERM end the process at once. While it runs, `dorax.cli.interruption`
decides.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line with the arguments of the process."""
    for kind in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(kind) is not signal.SIG_IGN:
            signal.signal(kind, _end)
    from dorax.core.checks import InvalidInput  # with JAX, takes a second or two
    from dorax.core.extras import needing

    try:
        with needing("paper"):
            from dorax import cli
    except InvalidInput as error:
        print(f"dorax: {error}", file=sys.stderr)
        raise SystemExit(2) from None

    try:
        cli.main()
    except SystemExit as end:
        if end.code in (128 + signal.SIGINT, 128 + signal.SIGTERM):
            # Threads of JAX may still be compiling or computing. They would crash in an interpreter that shuts down.
            sys.stderr.flush()
            os._exit(int(end.code))
        raise


def _end(kind: int, _: FrameType | None) -> None:
    os.write(2, b"dorax: interrupted\n")
    os._exit(128 + kind)


if __name__ == "__main__":
    main()
