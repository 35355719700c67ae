"""Processes that hold sessions: how they're made, spoken to, watched. `docs/formats/workers.md`."""
