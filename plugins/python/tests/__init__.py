"""Tests of the kit: python3 -m unittest, in the folder of pyproject.toml."""
