"""Two CPU devices, so that lanes are really dealt out; and what every refusal of bad input has in common."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_num_cpu_devices", 2)

# The same examples on every machine: a failure is a failure for everybody.
settings.register_profile("dorax", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("dorax")

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
