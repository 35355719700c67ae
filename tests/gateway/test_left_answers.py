"""Answers on disk: those of a process that was killed go when a gateway starts."""

from __future__ import annotations

import subprocess
import sys

from accelerator.gateway.statements.answer_cache import AnswerCache
from tests.gateway.support import filled_cache

_KEEPS = """
import sys, time
from tests.gateway.support import filled_cache
cache = filled_cache(sys.argv[1])
print(cache.disk_bytes, flush=True)
time.sleep(600)
"""


def _answers(folder):
    return list(folder.glob("accelerator-answers-*/*.answer"))


def test_answers_of_a_killed_process_go_and_those_of_a_living_one_stay(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", _KEEPS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert int(other.stdout.readline()) > 0
            own = AnswerCache(1, 1, str(tmp_path), 1)
            own.delete_left()
            assert len(_answers(tmp_path)) == 1
        finally:
            other.kill()
    assert len(_answers(tmp_path)) == 1
    own.delete_left()
    assert not list(tmp_path.iterdir())


def test_the_folder_goes_with_the_cache(tmp_path):
    cache = filled_cache(tmp_path)
    (answer,) = _answers(tmp_path)
    assert answer.parent.stat().st_mode & 0o777 == 0o700
    cache.close()
    assert not list(tmp_path.iterdir())
    AnswerCache(1, 1, str(tmp_path / "missing"), 1).delete_left()
