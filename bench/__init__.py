"""Benches and the demo: they may import anything, nothing imports them, and no wheel holds them."""
