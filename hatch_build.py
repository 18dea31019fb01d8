"""Recorded results travel inside the wheel; an editable installation reads them in its checkout."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RecordedResults(BuildHookInterface):
    """Add `results/` to the package, where `dorax.study.repository` finds it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder unless the installation is editable."""
        if version != "editable":
            build_data["force_include"]["results"] = "dorax/results"
