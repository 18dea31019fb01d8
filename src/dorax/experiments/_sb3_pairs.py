"""Who solves more, and sooner: all pairs of kinds of exploration, problem by problem and over all problems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from dorax.experiments._sb3_problems import PROBLEMS, STYLES, agent_name, kinds_on
from dorax.study import figures
from dorax.study.archive import in_words
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Table
from dorax.study.results import LeftOut, Results
from dorax.study.statistics import Times, difference_of_shares, first_times, median, ratio_of_medians, share

SOLVED = 0.5  # mean true return; the best is 0.99 on the deep sea and 1 on the mountain car
WINDOW = 5  # records in a moving average: a tenth of a run


def mean_return(data: xr.Dataset) -> np.ndarray:
    """Compute the moving average of the true return.

    Args:
        data: results of one condition.

    Returns:
        An array, seeds x records.
    """
    return figures.trailing_mean(data.record_return.values, WINDOW)


def times_of(data: xr.Dataset) -> Times:
    """Find the steps until the mean true return first reaches that of a solved problem.

    Args:
        data: results of one condition.

    Returns:
        One time per seed.
    """
    return first_times(mean_return(data), data.record_step.values, SOLVED)


def counts(results: Results, kinds: tuple[str, str], problems: Sequence[str]) -> list[tuple[int, int]]:
    """Count the runs of two kinds that solve a problem, over several problems.

    On each problem only seeds that both kinds have are counted, so that no problem weighs more for one of them.
    Problems on which one of them was not run are left out.

    Args:
        results: results of the experiment.
        kinds: two kinds of exploration.
        problems: names of the problems.

    Returns:
        For each kind, the number of runs that solve it and the number of all runs.
    """
    found = np.zeros((2, 2), int)
    for problem in _run_with(results, kinds, problems):
        data = [results[agent_name(problem, kind)].data() for kind in kinds]
        common = np.intersect1d(*(each.seed.values for each in data))
        found += [[times_of(each.sel(seed=common)).is_reached.sum(), len(common)] for each in data]
    return [(int(solved), int(runs)) for solved, runs in found]


def _run_with(results: Results, kinds: tuple[str, str], problems: Sequence[str]) -> list[str]:
    """Return the problems that both kinds were run on."""
    found = [problem for problem in problems if all(agent_name(problem, kind) in results.conditions for kind in kinds)]
    if not found:
        raise LeftOut(" and ".join(kinds))
    return found


def solved_more_often(text: str, often: str, seldom: str, problems: Sequence[str]) -> Claim:
    """Claim that more runs solve a problem with one kind of exploration than with another.

    Args:
        text: the claim in words.
        often: the better kind.
        seldom: the worse kind.
        problems: names of the problems, whose runs are counted together.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        found = counts(results, (often, seldom), problems)
        where = "; ".join(_run_with(results, (often, seldom), problems))
        words = ", ".join(f"{x} of {n} with {kind}" for kind, (x, n) in zip((often, seldom), found, strict=True))
        statistic = f"difference in the share of runs whose mean return reaches {SOLVED:g}: {words} ({where})"
        return Estimate(statistic, difference_of_shares(*found), found[0][1])

    return Claim(text, estimate, above=0.0)


def solved_sooner(text: str, soon: str, late: str, problem: str) -> Claim:
    """Claim that a problem is solved sooner with one kind of exploration than with another.

    Args:
        text: the claim in words.
        soon: the better kind.
        late: the worse kind.
        problem: name of the problem.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        slow, fast = (times_of(results[agent_name(problem, kind)].data()) for kind in (late, soon))
        words = f"steps until a mean return of {SOLVED:g}, {late} over {soon} (medians)"
        return Estimate(words, ratio_of_medians(slow, fast), len(fast.time))

    return Claim(text, estimate, above=1.0)


def tables(results: Results) -> Sequence[Table]:
    """Return a table of how many runs solve each problem and when, and tables of all pairs of kinds."""
    return [_table_of_kinds(results), *_tables_of_pairs(results)]


def _table_of_kinds(results: Results) -> Table:
    rows: list[Sequence[object]] = []
    for problem in PROBLEMS:
        for kind in kinds_on(problem):
            if agent_name(problem, kind) in results.conditions:
                result = results[agent_name(problem, kind)]
                times = times_of(result.data())
                solved, soon = share(int(times.is_reached.sum()), len(times.time)), median(times.latest)
                setting = result.choices["step"].setting if result.choices else {}
                words = f"{solved.value:.0%} [{solved.low:.0%}, {solved.high:.0%}]"
                when = f"{soon / 1e3:.0f}" if np.isfinite(soon) else "never"
                rows.append((problem, kind, in_words(setting), len(times.time), words, when))
    header = ("problem", "exploration", "fitted", "seeds", "runs that solve it", "thousand steps until then (median)")
    return Table("How many runs solve it, and when", header, rows)


def _tables_of_pairs(results: Results) -> list[Table]:
    """Return one table per problem, and one for all of them, with a row and a column for each kind."""
    groups = {problem: [problem] for problem in PROBLEMS} | {"all problems together": list(PROBLEMS)}
    found: list[Table] = []
    for name, problems in groups.items():
        kinds = [
            kind for kind in STYLES if all(agent_name(problem, kind) in results.conditions for problem in problems)
        ]
        rows = [(row, *(_difference(results, row, column, problems) for column in kinds)) for row in kinds]
        if len(kinds) > 1:
            caption = f"{name}: share of runs that solve it, row minus column, in percentage points"
            found.append(Table(caption, ("", *kinds), rows))
    return found


def _difference(results: Results, row: str, column: str, problems: Sequence[str]) -> str:
    if row == column:
        return ""
    found = difference_of_shares(*counts(results, (row, column), problems))
    value, low, high = (
        f"{round(100 * x):+d}".replace("+0", "0").replace("-", "−") for x in (found.value, found.low, found.high)
    )
    return f"{value} [{low}, {high}]"
