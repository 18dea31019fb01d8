"""`dorax explore`: worlds and agents by name, and the page that is written."""

import json
import re
from typing import Any

import numpy as np
import pytest

from dorax import cli, explorer, mdps
from dorax.envs import words


def fails(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["explore", *arguments])
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert stopped.value.code == 2
    return lines[0]


OURS = ["bridge", "bridge:3", "tree", "cliff", "deep_sea", "deep_sea:4", "chain:9", "river_swim", "key_and_door:5"]


@pytest.mark.parametrize("name", [*OURS, "FrozenLake-v1", "Taxi-v4", "dorax/Bridge-v0"])
def test_a_name_is_a_world(name):
    assert words.mdp(name).states > 1


def test_a_frozen_lake_is_drawn_as_gymnasium_draws_it():
    lake = words.mdp("FrozenLake-v1")
    assert lake.layout is not None
    assert lake.action_names is not None
    assert lake.layout.rows == ("S...", ".#.#", "...#", "#..G")
    # South from the start, if it does not slip, leads to the cell below.
    below = lake.layout.cells.index((1, 0))
    assert below in lake.successor[0, lake.action_names.index("south")]


def test_every_agent_has_a_name_and_its_discounts():
    mdp = mdps.bridge(3)
    for name in explorer.AGENTS:
        agent = explorer.agents([name], mdp, discount=0.8, e_discount=0.7)[name]
        assert agent.discount == 0.8
        assert getattr(agent.counter, "discount", 0.7) == 0.7


def test_a_temperature_grows_with_what_there_is_to_gain():
    def temperature(mdp):
        rule: Any = explorer.agents(["softmax"], mdp, 0.9, 0.9)["softmax"].rule
        return rule.policy.temperature

    assert temperature(mdps.bridge(3)) == pytest.approx(1.0)
    assert temperature(mdps.bridge(3, normalised=True)) == pytest.approx(0.1)
    assert temperature(mdps.cliff()) > 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["brigde"], "MDP 'brigde' is unknown; did you mean bridge? allowed: bridge,"),
        (["Taxi-v3"], "MDP 'Taxi-v3' is unknown; did you mean Taxi-v"),
        (["bridge:many"], "the size of bridge is 'many'; allowed: a whole number, such as bridge:10"),
        (["bridge:0"], "the length of a bridge is 0"),
        (["cliff:5"], "a size is given for cliff, which has only one"),
        (["nowhere.txt"], "nowhere.txt does not exist"),
        (["bridge", "--agent", "e-value"], "agent 'e-value' is unknown; did you mean e-values? allowed: e-values,"),
        (["bridge", "--agent", "visits", "visits"], "one, or two different ones"),
        (["bridge", "--agent", "visits", "softmax", "e-values"], "one, or two different ones"),
        (["bridge", "--episodes", "0"], "episodes is 0"),
        (["bridge", "--discount", "1"], "discount is 1"),
        (["bridge", "--e-discount", "1.5"], "exploration discount is 1.5"),
        (["bridge", "--seed", "-1"], "-1"),
        (["CartPole-v1"], "no transition table"),
        (["bridge", "--episodes", "1", "--out", "/proc/nowhere/page.html"], "cannot write"),
    ],
)
def test_what_cannot_be_explored_is_one_line(capsys, tmp_path, arguments, expected):
    out = [] if "--out" in arguments else ["--out", str(tmp_path / "page.html")]
    assert expected in fails(capsys, *arguments, *out)
    assert not (tmp_path / "page.html").exists()


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_a_drawn_maze_becomes_one_page_that_loads_nothing(capsys, tmp_path):
    (tmp_path / "my_maze.txt").write_text("S..\n.#.\n..G\n")
    out = tmp_path / "deep" / "page.html"
    cli.main(["explore", str(tmp_path / "my_maze.txt"), "--episodes", "3", "--out", str(out)])
    *done, last = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0].strip() for line in done] == ["e-values", "visits"]
    assert last == f"wrote {out}: open it in a browser"
    page = out.read_text()
    assert "<title>dorax explore: my_maze</title>" in page
    assert not re.search(r'(?<!<a )(src|href)="(?!data:)', page), "only links lead elsewhere"
    assert page.count("http") == page.count('<a href="http')
    assert "@import" not in page
    assert "url(" not in page


def test_the_page_holds_every_number_that_was_recorded(tmp_path):
    mdp = mdps.tree(3)
    recordings = {
        name: explorer.record(mdp, agent, 12)
        for name, agent in explorer.agents(["e-values", "softmax"], mdp, 0.9, 0.9).items()
    }
    explorer.write_page(tmp_path / "page.html", mdp, recordings)
    data = data_of((tmp_path / "page.html").read_text())
    assert data["episodes"] == list(range(13))
    for frames, recording in zip(data["agents"], recordings.values(), strict=True):
        tables = {name: np.zeros(mdp.available.size) for name in ("visits", "counts", "q")}
        for shown, frame in zip(frames, recording.frames, strict=True):
            assert shown["path"] == frame.path.tolist()
            for name, table in tables.items():
                table[shown["pairs"]] = shown[name]
                expected = np.where(mdp.available, getattr(frame, name), 0).ravel()
                np.testing.assert_allclose(table, expected, rtol=1e-6)


def test_a_name_with_markup_stays_text(tmp_path):
    mdp = mdps.maze("SG", name="</script><b>")
    agents = explorer.agents(["visits"], mdp, 0.9, 0.9)
    explorer.write_page(tmp_path / "page.html", mdp, {"visits": explorer.record(mdp, agents["visits"], 1)})
    assert "</script><b>" not in (tmp_path / "page.html").read_text()


def test_agents_that_were_recorded_at_different_episodes_are_refused(tmp_path, refused):
    mdp = mdps.bridge(3)
    agent = explorer.agents(["visits"], mdp, 0.9, 0.9)["visits"]
    with refused("2 different lists of episodes"):
        explorer.write_page(
            tmp_path / "page.html", mdp, {name: explorer.record(mdp, agent, n) for name, n in (("a", 2), ("b", 3))}
        )
