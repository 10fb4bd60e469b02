"""A mirror-descent step is a softmax, however many were taken."""

from __future__ import annotations

import numpy as np

from confide.learning.learners.po import mirror_step


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def test_one_step_is_the_formula() -> None:
    rng = np.random.default_rng(0)
    policy, q = rng.dirichlet(np.ones(3), size=(4, 2)), rng.random((4, 2, 3)) * 4
    logits, after = np.log(policy).reshape(4, 6).copy(), np.empty((4, 2, 3))
    mirror_step(logits, q.reshape(4, 6), -0.7, after)
    expected = policy * np.exp(-0.7 * q)
    assert np.allclose(after, expected / expected.sum(axis=-1, keepdims=True))
    assert np.allclose(np.exp(logits.reshape(4, 2, 3)), after)


def test_many_steps_are_one_softmax_of_their_sum() -> None:
    rng = np.random.default_rng(1)
    logits, policy, total = np.zeros((2, 6)), np.empty((2, 2, 3)), np.zeros((2, 2, 3))
    for _ in range(500):
        q = rng.random((2, 2, 3)) * 5
        total += 0.3 * q
        mirror_step(logits, q.reshape(2, 6), 0.3, policy)
    assert np.allclose(policy, softmax(total))


def test_steps_of_any_size_keep_it_a_policy() -> None:
    logits, policy = np.zeros((1, 3)), np.empty((1, 1, 3))
    for rate in (0.0, 1e300, -1e300, 1e6):
        mirror_step(logits, np.array([[0.0, 1e-3, 1.0]]), rate, policy)
        assert np.isfinite(policy).all() and abs(policy.sum() - 1) < 1e-12
    logits[:] = 0.0
    mirror_step(logits, np.zeros((1, 3)), 1.0, policy)
    assert np.allclose(policy, 1 / 3)
