"""A net that is given the truth at some steps, and one that is watched while it computes."""

import numpy as np
import pytest
import small

import algorist
from algorist.model.inference import REPORTED_STEPS
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.solving.solver import solve

KEYS = {"key": [5, 2, 9, 1, 7]}


@pytest.fixture(scope="module")
def learner():
    made = Learner.new(["heapsort", "bfs"], small.model(), TaskEncoding())
    small.lively(made.net)
    return made


def solved(learner, **how):
    return solve(learner, "heapsort", KEYS, compare=True, **how)


def test_given_the_truth_it_is_right_there_and_the_same_before(learner):
    free, forced = solved(learner), solved(learner, forced=[7])
    for name, array in forced.hints.items():
        np.testing.assert_array_equal(array[7], forced.comparison.hints[name][7])
        np.testing.assert_allclose(array[:7], free.hints[name][:7], rtol=1e-5)
        sure = forced.confidence.get(name)
        assert sure is None or np.isnan(sure[7]).all()


def test_what_it_is_given_it_goes_on_from(learner):
    free, forced = solved(learner), solved(learner, forced=[7])
    later = [free.hints[name][8:] != forced.hints[name][8:] for name in free.hints]
    assert any(differs.any() for differs in later)


def test_teacher_forcing_at_all_steps_is_right_at_all(learner):
    steps = algorist.get("heapsort").trace(**KEYS).steps
    assert solved(learner, forced=range(steps)).comparison.share == 1


def test_steps_that_there_are_not_are_refused(learner):
    with pytest.raises(ValueError, match="forced: got step 99, expected 0 to"):
        solved(learner, forced=[99])


def test_progress_counts_up_to_the_last_step_and_changes_nothing(learner):
    seen = []
    watched = solved(learner, on_progress=lambda done, _: seen.append(done))
    free = solved(learner)
    assert seen == [*range(REPORTED_STEPS, watched.steps - 1, REPORTED_STEPS), watched.steps - 1]
    for name, array in watched.hints.items():
        np.testing.assert_allclose(array, free.hints[name], rtol=1e-4, atol=1e-6)


def test_what_progress_raises_ends_the_computation(learner):
    class EnoughError(Exception):
        pass

    def stop(done, steps):
        seen.append(done)
        raise EnoughError

    seen = []
    with pytest.raises(EnoughError):
        solved(learner, on_progress=stop)
    assert len(seen) == 1
