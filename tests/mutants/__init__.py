"""Planted faults: does any test notice them?

`*.toml` the faults, one file for each room · `planted.py` reads and plants them · `tree.py` a copy
of the repository to plant them in · `told.py` what pytest tells of each test, and which lines it
runs · `coverage_map.py` the recorded map of that · `choice.py` which tests are run for a fault, in
which order · `run.py` the command.
"""
