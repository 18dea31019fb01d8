"""The command line: list, run, report, reproduce, bench, train, atari, play, explore."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import tyro

import dorax
from dorax.cli.atari import Atari, Play
from dorax.cli.bench import Bench
from dorax.cli.experiments import List, Report, Reproduce, Run
from dorax.cli.explore import Explore
from dorax.cli.interruption import interruptible
from dorax.cli.train import Train
from dorax.core.checks import InvalidInput, suggestion
from dorax.engine.devices import use_all_cores

_COMMANDS = {
    "list": List,
    "run": Run,
    "report": Report,
    "reproduce": Reproduce,
    "bench": Bench,
    "train": Train,
    "atari": Atari,
    "play": Play,
    "explore": Explore,
}
_BROKEN_PIPE = 141  # what shells report for a command that is ended by SIGPIPE


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Expected errors and interruptions are printed in one line, with a non-zero exit code.

    Args:
        arguments: the arguments; by default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # such as `dorax list | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be written
        raise SystemExit(_BROKEN_PIPE) from None


def _run(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        print(f"dorax {dorax.__version__}")
        return
    command = _parsed(arguments)
    is_resumable = getattr(command, "is_resumable", False)
    use_all_cores()
    with interruptible(is_resumable) as interruption:
        try:
            command()
        except InvalidInput as error:
            _fail(str(error), 2)
        except BaseException as error:
            is_interrupted = isinstance(error, KeyboardInterrupt) or interruption.has_come.is_set()
            if isinstance(error, SystemExit) or not is_interrupted:
                raise
            unless = " (without --fresh)" if getattr(command, "fresh", False) else ""
            remark = f"; the same command{unless} resumes" if is_resumable else ""
            _fail(f"interrupted{remark}", interruption.code)


def _parsed(arguments: list[str]) -> Any:
    name = next(iter(arguments), "")
    if name and not name.startswith("-") and name not in _COMMANDS:
        _fail(f"command {name!r} is unknown;{suggestion(name, _COMMANDS)} allowed: {', '.join(_COMMANDS)}", 2)
    return tyro.extras.subcommand_cli_from_dict(
        _COMMANDS,
        prog="dorax",
        description=f"dorax {dorax.__version__}: directed exploration with E-values.",
        args=arguments,
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone),
    )


def _fail(message: str, code: int) -> None:
    print(f"dorax: {message}", file=sys.stderr)
    raise SystemExit(code)
