"""Which package of dorax imports which, read from the source, and the picture of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "dorax"
# Packages from the bottom up: one imports only from rows below its own, or within its row where the test says so.
ROWS = (
    ("core",),
    ("files", "features", "mdps"),
    ("archive", "envs", "study"),
    ("engine",),
    ("agents",),
    ("learners", "explorer", "wrappers"),
    ("bench", "experiments"),
    ("cli",),
)


def packages() -> list[str]:
    """The packages and top modules of dorax, the package itself aside."""
    names = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    return sorted(names - {"__init__", "__main__", "__pycache__", "py"})


def edges() -> dict[str, set[str]]:
    """The packages that each package imports."""
    return {
        name: {used for path in _files(name) for used in _used(path)} - {name, "__version__"} for name in packages()
    }


def _files(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py")) or [SOURCE / f"{package}.py"]


def _used(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "dorax" else [f"dorax.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("dorax."))


def picture(imports: Mapping[str, set[str]]) -> str:
    """The imports as SVG: a row a layer, an arrow from each package to what it imports of the rows below."""
    width, height, gap = 118, 34, 74
    total = max(len(row) for row in ROWS) * (width + 60)
    place: dict[str, tuple[float, float]] = {}
    for i, row in enumerate(ROWS):
        for j, name in enumerate(row):
            place[name] = (total * (j + 0.5) / len(row), (len(ROWS) - 1 - i) * gap + 30)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {len(ROWS) * gap}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="Which package imports which">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0.5 L7.5 4 L0 7.5 Z" fill="#0072B2"/></marker></defs>',
    ]
    for name, used in imports.items():
        x, y = place[name]
        for other in sorted(used & set(place)):
            u, v = place[other]
            lines.append(
                f'<path d="M{x:.0f} {y + height / 2:.0f} L{u:.0f} {v - height / 2:.0f}" stroke="#0072B2" '
                'stroke-opacity="0.45" fill="none" marker-end="url(#head)"/>'
            )
    for name, (x, y) in place.items():
        lines.append(
            f'<rect x="{x - width / 2:.0f}" y="{y - height / 2:.0f}" width="{width}" height="{height}" rx="7" '
            'fill="white" stroke="#555"/>'
            f'<text x="{x:.0f}" y="{y + 4.5:.0f}" text-anchor="middle" fill="#222">{name}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    (Path(__file__).parents[1] / "figures" / "inside.svg").write_text(picture(edges()))
