"""Covers: which source has the states of which data files, and what merging them costs.

`source.py` says what a source is; `nothing.py`, `segment.py`, `manifest.py`, `index.py`, `rows.py`
are the five there are. `compose.py` asks them one after the other.
"""
