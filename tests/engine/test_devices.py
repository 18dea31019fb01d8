"""On a CPU a lane is the same bit for bit on one device and on two."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

CODE = """
import sys
import jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
import numpy as np
import dorax

assert len(jax.devices()) == int(sys.argv[1])
car, lll = dorax.envs.SparseMountainCar(), dorax.LLL(dorax.Softmax(0.2))
short = {"params": car.default_params._replace(max_steps_in_episode=60), "test_every": 3}
runs = {
    "tables": dorax.train(dorax.TabularAgent(lll, dorax.EValues(0.9)), dorax.mdps.cliff(), 20, 5, steps=2000),
    "tiles": dorax.train(dorax.LinearAgent(lll, dorax.EValues(0.9)), car, 6, 5, **short),
    "networks": dorax.train(dorax.DeepAgent(lll, dorax.EValues(0.9), width=8, capacity=100), car, 6, 5, **short),
    "networks, RND": dorax.train(
        dorax.DeepAgent(lll, dorax.EValues(0.9), dorax.RND(0.1, width=8, warm_up=20), width=8, capacity=100),
        car, 6, 5, **short,
    ),
    "networks, from replay": dorax.train(
        dorax.DeepAgent(
            lll, dorax.EValues(0.9, form="logistic"), dorax.InverseRootLogE(0.1), counts_from="replay", capacity=100
        ),
        car, 6, 5, **short,
    ),
}
arrays = {}
for name, result in runs.items():
    leaves = jax.tree.leaves(result.learner().memory)
    arrays |= {f"{name} {i}": leaf for i, leaf in enumerate(leaves)} | {f"{name} return": result.data["return"].values}
np.savez(sys.argv[2], **arrays)
"""


@pytest.mark.slow
def test_one_device_and_two_give_the_same_run(tmp_path: Path) -> None:
    found = []
    for devices in (1, 2):
        path = tmp_path / f"{devices}.npz"
        subprocess.run([sys.executable, "-c", CODE, str(devices), str(path)], check=True, cwd=tmp_path)
        with np.load(path) as saved:
            found.append(dict(saved))
    one, two = found
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)
