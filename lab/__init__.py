"""Corral beside the servers it takes the place of: same machine, same scripts, same minute.

`make bench` runs it; README.md in this folder says how and what the numbers mean.
"""
