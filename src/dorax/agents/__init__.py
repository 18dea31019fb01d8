"""Agents: tables, tiles, networks, the screen. They never import one another."""
