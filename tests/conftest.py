"""Two CPU devices, so that lanes are really dealt out; and what every refusal of bad input has in common."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import settings

jax.config.update("jax_num_cpu_devices", 2)

# Nearly all of the time goes into compiling, and the workers need the same programs: they share what they compiled.
jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)

# The same examples on every machine: a failure is a failure for everybody.
settings.register_profile("dorax", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("dorax")

TrainTables = Callable[..., Any]
Refusal = Callable[..., AbstractContextManager[None]]


@pytest.fixture(scope="session")
def refused() -> Refusal:
    """`with refused("nan"):` bad input is answered by one line that names the value and what is allowed."""
    from dorax import InvalidInput

    @contextmanager
    def refused(*words: str) -> Iterator[None]:
        with pytest.raises(InvalidInput) as caught:
            yield
        message = str(caught.value)
        assert "\n" not in message
        for word in (*words, "allowed: "):
            assert word in message

    return refused


@pytest.fixture(scope="session")
def train_tables() -> TrainTables:
    """`dorax.train` on a finite MDP: its dataset, with the tables `q` and `count` of every learner."""
    import dorax

    def train_tables(agent: Any, mdp: Any, episodes: int, seeds: Any = 1, **options: Any) -> Any:
        chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
        result = dorax.train(agent, mdp, episodes, chosen, learners=chosen, **options)
        settings = options.get("settings")
        lead = ("seed",) if settings is None else ("setting", "seed")
        which = [None] if settings is None else range(len(settings))
        for name, table in {"q": "q_table", "count": "count_table"}.items():
            found = np.stack([[getattr(result.learner(seed, i), table) for seed in chosen] for i in which])
            result.data[name] = ((*lead, "state", "action"), found if settings is not None else found[0])
        return result.data

    return train_tables
