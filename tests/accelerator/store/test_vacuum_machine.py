"""The vacuum's machine in memory: `vacuum_machine.py` says what is done and what must hold."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.accelerator.store.vacuum_machine import VacuumMachine
from tests.support.extent import sized


@pytest.mark.parametrize("how", ["refused", "before", None])
def test_who_reads_without_a_lease_is_promised_nothing(how):
    """Once no lease could be written: chunks that weren't read yet may be deleted meanwhile."""
    for at in range(13):
        machine = VacuumMachine()
        machine.begin_with_a_cube()
        machine.end_readings(1)
        machine.restart(0)  # it remembers no chunk
        machine.pass_time(3)  # a cube in the bin is past its time
        machine.pin(0, how and (3, how), (at, "upheaval"))
        machine.no_file_that_somebody_needs_is_missing()
        assert len(machine.pins) == (how is None)
        machine.teardown()


TestVacuumMachine = VacuumMachine.TestCase
# The same examples each time: what is new is looked for by the long runs.
TestVacuumMachine.settings = settings(
    max_examples=sized(12, full=30), stateful_step_count=40, deadline=None, derandomize=True
)
