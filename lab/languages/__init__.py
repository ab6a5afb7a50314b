"""Corral's runtimes beside the servers of their languages: `python3 -m lab.languages --help`."""
