"""What comes back from training: a labelled dataset, and learners to save, to evaluate, to film, to train further."""

from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

import dorax
from dorax import mdps

CAR = dorax.envs.SparseMountainCar()
SHORT = CAR.default_params._replace(max_steps_in_episode=60)
LLL = dorax.LLL(dorax.Softmax(0.2))
AGENTS = {
    "tables": (dorax.TabularAgent(LLL, dorax.EValues(0.9)), mdps.bridge(4), {}),
    "tiles": (dorax.LinearAgent(LLL, dorax.EValues(0.9, form="logistic")), CAR, {"params": SHORT}),
    "networks": (
        dorax.DeepAgent(
            LLL, dorax.EValues(0.9), dorax.RND(0.1, width=8, outputs=4, warm_up=20), width=8, batch=4, capacity=200
        ),
        CAR,
        {"params": SHORT},
    ),
}


@pytest.fixture(scope="module")
def trained():
    return {name: dorax.train(agent, env, 6, seeds=2, **options) for name, (agent, env, options) in AGENTS.items()}


@pytest.fixture(params=AGENTS)
def family(request):
    return request.param


def steps_of(family, number, seed=0):
    """Steps to observe, the same each time."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        if family == "tables":
            here, there = (int(x) for x in random.integers(4, size=2))
        else:
            here, there = random.uniform([-1.2, -0.07], [0.6, 0.07], (2, 2)).astype(np.float32)
        action = int(random.integers(4 if family == "tables" else 3))
        yield here, action, float(random.random()), there, bool(random.random() < 0.1), False


def observation_of(family):
    return 0 if family == "tables" else np.array([-0.5, 0.01], np.float32)


def same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one.memory, other.memory)


def test_the_dataset_labels_its_axes(trained, family):
    data = trained[family].data
    assert data["return"].attrs["long_name"] == "return of the episode"
    assert data["length"].attrs["units"] == "steps"
    assert all("long_name" in data[name].attrs for name in data.variables)


def test_the_trained_learner_knows_values_and_counts_and_acts(trained, family):
    learner = trained[family].learner()
    here = observation_of(family)
    assert learner.q(here).shape == learner.counts(here).shape == (learner.spec.actions,)
    assert (learner.counts(here) > 0).any()
    assert learner.greedy_action(here) == np.argmax(learner.q(here))
    assert learner.act(here) in range(learner.spec.actions)
    assert learner.steps == int(trained[family].data.total_steps[0])


def test_save_load_and_go_on_is_the_same_as_going_on_in_memory(trained, family, tmp_path):
    learner = trained[family].learner()
    for step in steps_of(family, 7):  # leaves networks between two updates, and an action chosen
        learner.observe(*step)
    learner.save(tmp_path / "learner.npz")
    loaded = dorax.load(tmp_path / "learner.npz")
    same(loaded, learner)
    actions = []
    for each in (learner, loaded):
        actions.append([])
        for step in steps_of(family, 30, seed=1):
            each.observe(*step)
            actions[-1].append(each.act(step[3]))
    same(loaded, learner)
    assert actions[0] == actions[1]
    assert loaded.agent == learner.agent
    assert loaded.steps == learner.steps


def test_a_step_of_one_s_own_loop_is_compiled_once(trained, family, caplog):
    learner = trained[family].learner()
    for step in steps_of(family, 9):  # enough for an update of networks
        learner.observe(*step)
        learner.act(step[3])
    with jax.log_compiles(), caplog.at_level("WARNING"):
        for step in steps_of(family, 9, seed=1):
            learner.observe(*step)
            learner.act(step[3])
    assert "ompil" not in caplog.text


def test_a_learner_is_trained_further_from_what_it_knows(trained, family):
    agent, env, options = AGENTS[family]
    learner = trained[family].learner()
    here = observation_of(family)
    before = learner.counts(here).copy()
    further = dorax.train(learner, env, 6, seeds=[5], **options).learner()
    assert further.counts(here).sum() > before.sum()
    fresh = dorax.train(agent, env, 6, seeds=[5], **options).learner()
    assert further.counts(here).sum() > fresh.counts(here).sum()
    np.testing.assert_array_equal(learner.counts(here), before)


def test_evaluation_learns_nothing_and_scores_greedy_play(trained, family):
    _, env, _ = AGENTS[family]
    learner = trained[family].learner()
    before = learner.q(observation_of(family)).copy()
    scores = dorax.evaluate(learner, env, episodes=2, max_steps=50)
    assert scores.shape == (2,)
    np.testing.assert_array_equal(learner.q(observation_of(family)), before)
    drawn = dorax.evaluate(learner, env, episodes=2, greedy=False, max_steps=50)
    assert drawn.shape == (2,)


def test_a_solved_bridge_is_crossed_in_our_world_and_in_gymnasium_s():
    learner = dorax.train(AGENTS["tables"][0], mdps.bridge(4), 200).learner()
    np.testing.assert_array_equal(dorax.evaluate(learner, mdps.bridge(4), episodes=3), 10)
    assert dorax.evaluate(learner, gymnasium.make("dorax/Bridge-v0", length=4), episodes=1) == 10


@pytest.mark.parametrize("env", ["own", "Gymnasium's"])
def test_a_film_shows_the_learner_at_play(trained, family, env, tmp_path):
    from PIL import Image
    from PIL.GifImagePlugin import GifImageFile

    env = AGENTS[family][1] if env == "own" else {"tables": "dorax/Bridge-v0"}.get(family, "MountainCar-v0")
    if family == "tables" and isinstance(env, str):
        env = gymnasium.make(env, length=4, render_mode="rgb_array")
    dorax.play(trained[family].learner(), env, tmp_path / "film.gif", steps=5)
    with Image.open(tmp_path / "film.gif") as film:
        assert isinstance(film, GifImageFile)
        assert film.n_frames >= 1
        assert film.size[0] > 300


def test_only_the_learners_that_were_asked_for_are_kept(trained, family):
    with pytest.raises(dorax.InvalidInput, match="seed 1 was not kept; allowed: 0"):
        trained[family].learner(1)
    agent, env, options = AGENTS[family]
    none = dorax.train(agent, env, 6, learners=[], **options)
    with pytest.raises(dorax.InvalidInput, match="no learner was kept"):
        none.learner()


def test_a_setting_is_chosen_by_its_number_or_by_itself():
    settings = dorax.grid(temperature=(0.1, 5.0))
    result = dorax.train(AGENTS["tables"][0], mdps.bridge(4), 30, settings=settings)
    assert result.learner(setting=1).agent.rule.policy.temperature == 5.0
    np.testing.assert_array_equal(
        result.learner(setting={"temperature": 5.0}).q_table, result.learner(setting=1).q_table
    )
    with pytest.raises(dorax.InvalidInput, match="0 to 1"):
        result.learner()


def test_what_is_in_the_dataset_is_said_to_be_there(trained):
    with pytest.raises(AttributeError, match=r"result\.data\['q_error'\]"):
        _ = trained["tables"].q_error
    with pytest.raises(AttributeError, match="it has data"):
        _ = trained["tables"].nothing


def own_rule(values, counts, steps, uniform):
    return values.argmax(-1)


def test_an_agent_with_parts_of_your_own_is_given_again_to_load_it(tmp_path):
    agent = dorax.TabularAgent(own_rule, dorax.EValues(0.9))
    learner = dorax.TabularLearner(agent, 4, 2)
    learner.observe(0, 1, 1.0, 2, False)
    learner.save(tmp_path / "own.npz")
    with pytest.raises(dorax.InvalidInput, match="your own code"):
        dorax.load(tmp_path / "own.npz")
    loaded = dorax.load(tmp_path / "own.npz", agent)
    assert isinstance(loaded, dorax.TabularLearner)
    np.testing.assert_array_equal(loaded.q_table, learner.q_table)


def test_what_a_learner_cannot_use_is_refused(trained):
    tiles = trained["tiles"].learner()
    for misuse, words in (
        (lambda: tiles.act([0.0]), r"shape of observation is \(1,\)"),
        (lambda: tiles.q([np.nan, 0.0]), "nan"),
        (lambda: tiles.observe([0.0, 0.0], 3, 0.0, [0.0, 0.0], False), "action is 3"),
        (lambda: tiles.observe([0.0, 0.0], 1, np.inf, [0.0, 0.0], False), "reward is inf"),
        (lambda: dorax.evaluate(tiles, mdps.bridge(4)), "3 actions"),
        (lambda: dorax.evaluate(tiles, 7), "the environment is 7"),
        (lambda: dorax.play(None, CAR), "learner is None"),  # pyright: ignore[reportArgumentType]  # what is refused
        (lambda: dorax.train(tiles, dorax.envs.SparseAcrobot(), 2), "of the same kind and size"),
    ):
        with pytest.raises(dorax.InvalidInput, match=words):
            misuse()


def test_a_policy_alone_is_sampled_from():
    agent = dorax.TabularAgent(rule=dorax.Softmax(1.0))
    assert agent.rule == dorax.Sample(dorax.Softmax(1.0))
    no_rules: list[Any] = [dorax.LLL, lambda values: values, None, 3]
    for bad in no_rules:
        with pytest.raises(dorax.InvalidInput, match="rule is"):
            dorax.TabularAgent(rule=bad)
