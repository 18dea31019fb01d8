"""How much memory a compiled program needs, estimated from its operations before it is compiled."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

# What XLA makes part of the operation that uses the result, so that the result itself is never stored.
_FUSED = frozenset((
    "abs", "add", "and", "atan2", "bitcast_convert_type", "broadcast_in_dim", "cbrt", "ceil", "clamp",
    "convert_element_type", "copy", "copy_p", "cos", "div", "eq", "erf", "erf_inv", "exp", "exp2",
    "expand_dims", "expm1", "floor", "ge", "gt", "integer_pow", "iota", "is_finite", "le", "log", "log1p",
    "logistic", "lt", "max", "min", "mul", "ne", "neg", "nextafter", "not", "or", "pad", "population_count",
    "pow", "real", "rem", "reshape", "rev", "round", "rsqrt", "select_n", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "slice", "sqrt", "square", "squeeze",
    "stop_gradient", "sub", "tan", "tanh", "transpose", "xor",
))  # fmt: skip
_REDUCTIONS = frozenset(
    ("argmax", "argmin", "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum")
)
_UPDATES = ("scatter", "dynamic_update_slice", "while", "scan", "cond", "jit", "pjit")  # or what begins like this


def bytes_of(tree: Any) -> int:
    """Compute the size of arrays.

    Args:
        tree: tree of arrays, or of their shapes and dtypes.

    Returns:
        Number of bytes.
    """
    return sum(_bytes(leaf) for leaf in jax.tree.leaves(tree))


def temporary_bytes(jaxpr: Jaxpr, reusable: Collection[int] = ()) -> int:
    """Estimate how much memory a program needs beside its arguments: results, and what is stored on the way to them.

    Operations run in the order in which they are written, and a result is stored from its computation to its last use.
    Results of elementwise operations, updates and loops take the place of an argument that is not used any more if it
    has the same size. Results of elementwise operations that are used once, by another one or a sum, are not stored.

    Args:
        jaxpr: the program.
        reusable: indices of the arguments whose memory may be overwritten.

    Returns:
        Number of bytes.
    """
    last_use = _last_uses(jaxpr)
    fused = _fused(jaxpr)
    owned = {jaxpr.invars[i] for i in reusable}  # whose memory may be used again
    now = most = 0
    for i, eqn in enumerate(jaxpr.eqns):
        dying = {var for var in eqn.invars if not isinstance(var, Literal) and last_use[var] == i and var in owned}
        results = [var for var in eqn.outvars if var not in fused]
        inner, is_inside = _inner_bytes(eqn, dying)
        is_in_place = inner > 0 or eqn.primitive.name in _FUSED or eqn.primitive.name.startswith(_UPDATES)
        room = Counter(_bytes(var.aval) for var in dying) if is_in_place else Counter[int]()
        new = 0
        for var in results:
            size = _bytes(var.aval)
            if room[size] > 0:
                room[size] -= 1
            else:
                new += size
        most = max(most, now + (max(inner, new) if is_inside else inner + new))
        kept = sum(_bytes(var.aval) for var in results) - new  # in the place of arguments
        freed = sum(_bytes(var.aval) for var in dying) - kept
        now += new - min(freed, now + new)
        now -= sum(_bytes(var.aval) for var in results if var not in last_use)
        owned |= set(results)
    return most


def _inner_bytes(eqn: Any, dying: Collection[Any]) -> tuple[int, bool]:
    """Return what the programs inside an operation need, and whether that includes the results of the operation."""
    name, params = eqn.primitive.name, eqn.params
    reusable = [i for i, var in enumerate(eqn.invars) if not isinstance(var, Literal) and var in dying]
    if name == "while":
        skipped = params["cond_nconsts"] + params["body_nconsts"]
        carries = range(params["body_nconsts"], params["body_nconsts"] + len(eqn.invars) - skipped)
        return temporary_bytes(params["body_jaxpr"].jaxpr, carries), False
    if name == "scan":
        carries = range(params["num_consts"], params["num_consts"] + params["num_carry"])
        return temporary_bytes(params["jaxpr"].jaxpr, carries), False
    if name == "cond":
        branches = (temporary_bytes(branch.jaxpr, [i - 1 for i in reusable if i > 0]) for branch in params["branches"])
        return max(branches), True
    programs = [temporary_bytes(program, reusable) for program in _programs(params, len(eqn.invars))]
    return max(programs, default=0), bool(programs)


def _programs(params: dict[str, Any], arguments: int) -> Iterator[Jaxpr]:
    """Iterate over the programs that an operation calls with its own arguments: not those that combine two numbers."""
    for value in params.values():
        program = value.jaxpr if isinstance(value, ClosedJaxpr) else value
        if isinstance(program, Jaxpr) and len(program.invars) == arguments:
            yield program


def _last_uses(jaxpr: Jaxpr) -> dict[Any, int]:
    """Return the number of the last operation that uses each variable; that of a result is behind all of them."""
    found: dict[Any, int] = {}
    for i, eqn in enumerate(jaxpr.eqns):
        found |= {var: i for var in eqn.invars if not isinstance(var, Literal)}
    return found | {var: len(jaxpr.eqns) for var in jaxpr.outvars if not isinstance(var, Literal)}


def _fused(jaxpr: Jaxpr) -> set[Any]:
    """Return the variables that are never stored."""
    users: dict[Any, list[str]] = {}
    for eqn in jaxpr.eqns:
        for var in eqn.invars:
            if not isinstance(var, Literal):
                users.setdefault(var, []).append(eqn.primitive.name)
    for var in jaxpr.outvars:
        if not isinstance(var, Literal):
            users.setdefault(var, []).append("")
    into = _FUSED | _REDUCTIONS
    return {
        var
        for eqn in jaxpr.eqns
        if eqn.primitive.name in _FUSED
        for var in eqn.outvars
        if len(users.get(var, [])) == 1 and users[var][0] in into
    }


def _bytes(aval: Any) -> int:
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    if shape is None or dtype is None:
        return 0
    number = int(np.prod(shape, dtype=np.int64))
    if jnp.issubdtype(dtype, jax.dtypes.prng_key):
        return number * 8
    return number * np.dtype(dtype).itemsize
