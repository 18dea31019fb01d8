import numpy as np

from dorax.study import figures
from dorax.study.figures import trailing_mean


def test_a_trailing_mean_is_over_as_many_values_as_there_are():
    values = np.array([[1.0, 0.0, 1.0, 1.0, 0.0]])
    assert trailing_mean(values, window=2).tolist() == [[1, 0.5, 0.5, 1, 0.5]]
    assert np.isnan(trailing_mean(np.array([[1.0, np.nan]]), window=2)[0, 1])


def two_panels():
    figure = figures.new_figure()
    panels = figure.subplots(1, 2, sharey=True)
    for panel, title in zip(panels, ("first", "second"), strict=True):
        panel.plot([1, 2], label="E-values")
        panel.set_title(title)
    panels[0].set_ylabel("return")
    figures.legend_below(figure, panels[0])
    return figure


def test_text_in_a_figure_is_text_and_the_same_numbers_give_the_same_bytes(tmp_path):
    for folder in ("once", "again"):
        figures.write(two_panels(), tmp_path / folder, "game")
    for kind in ("svg", "pdf", "png"):
        once, again = (tmp_path / folder / f"game.{kind}" for folder in ("once", "again"))
        assert once.read_bytes() == again.read_bytes()
    assert ">return</text>" in (tmp_path / "once" / "game.svg").read_text()
    assert b"/FontFile2" in (tmp_path / "once" / "game.pdf").read_bytes(), "TrueType, which editors can edit"


def test_a_panel_by_itself_has_the_labels_and_the_legend_that_it_shared(tmp_path):
    figure = two_panels()
    figures.write(figure, tmp_path, "game")
    (tmp_path / "game-3.svg").write_text("of a figure that had more panels")
    assert figures.write_panels(figure, tmp_path, "game") == [("first", "game-1"), ("second", "game-2")]
    second = (tmp_path / "game-2.svg").read_text()
    assert all(f">{word}</text>" in second for word in ("second", "return", "E-values"))
    assert ">first</text>" not in second
    assert not (tmp_path / "game-3.svg").exists()


def test_a_figure_of_one_panel_has_no_files_of_panels(tmp_path):
    figure = figures.new_figure()
    image = figure.subplots().imshow(np.eye(2))
    figure.colorbar(image)
    figures.write(figure, tmp_path, "game")
    assert figures.write_panels(figure, tmp_path, "game") == []
