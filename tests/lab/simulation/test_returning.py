"""Simulated users who come again: their episodes are those of anyone, their noise and certificate those of all they did."""

from __future__ import annotations

from confide.lab.simulation import Choices, simulate
from confide.lab.simulation.simulate import prepare
from confide.privacy import Joint, Local, NoPrivacy, Participation

WORLD = "riverswim/3"


def test_a_run_says_how_often_users_came_and_can_be_run_again() -> None:
    run = simulate("ucbvi", WORLD, Joint(1.0, 1e-6), 2000, seeds=2, returns=4, apart=3, horizon=6)
    assert "up to 4 times, at least 3 batches apart" in str(run.certificate)
    choices = Choices.from_json(run.config["choices"])
    assert (choices.returns, choices.apart) == (4, 3)
    again = prepare("ucbvi", WORLD, Joint(1.0, 1e-6), 2000, returns=4, apart=3, horizon=6)
    assert again.design.participation == Participation(4, 3)


def test_noise_grows_with_how_often_users_come_and_shrinks_with_how_far_apart() -> None:
    def std(**choices: int) -> float:
        made = prepare("ucbvi", WORLD, Joint(1.0, 1e-6), 20_000, horizon=6, schedule="batches:60", **choices)
        noise: float = made.design.mechanism.std(60)
        return noise

    once, near, far = std(), std(returns=4, apart=1), std(returns=4, apart=15)
    assert 1.8 * once < far < 0.8 * near < 4 * once


def test_without_a_guarantee_it_makes_no_difference_who_comes_again() -> None:
    once = simulate("ucbvi", WORLD, NoPrivacy(), 500, seeds=1, horizon=6)
    often = simulate("ucbvi", WORLD, NoPrivacy(), 500, seeds=1, horizon=6, returns=5)
    assert (once.regret == often.regret).all()


def test_reports_of_devices_are_charged_one_by_one_however_far_apart() -> None:
    designs = [prepare("ucbvi", WORLD, Local(2.0), 500, horizon=6, returns=4, apart=apart).design for apart in (1, 9)]
    assert [design.act.times for design in designs] == [4, 4] and designs[0].digest == designs[1].digest
