"""What all tests share: none of them asserts how long something takes, hypothesis neither."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
