"""Worlds of operations and services: stock, machines, queues, customers, prices, lessons, couriers; and random sparse ones."""

from __future__ import annotations

import math

import numpy as np

from ... import validation
from ...mdp import PER_STEP, Model, Spec
from .registry import blank, register, start_in


@register("inventory", example="inventory/8x4", horizon=14)
def inventory(states: int, actions: int, horizon: int, demand: float = 0.3) -> Model:
    """Stock of up to S-1 units: each day order up to A-1, sell what is asked for, and pay for what is ordered and kept.

    What is asked for is binomial, of S-1 customers who come with the chance `demand`. A unit sold earns 1, one ordered costs 0.4,
    one kept overnight 0.1; rewards are where that lies between the worst and the best day.
    """
    spec = Spec(validation.integer("states", states, 2), actions, horizon)
    validation.between("demand", demand, 0.0, 1.0)
    transitions, rewards = blank(spec)
    most = spec.states - 1
    wanted = np.array([math.comb(most, k) * demand**k * (1 - demand) ** (most - k) for k in range(most + 1)])
    for stock in range(spec.states):
        for order in range(spec.actions):
            held = min(stock + order, most)
            sold = np.minimum(np.arange(most + 1), held)
            np.add.at(transitions[0, stock, order], held - sold, wanted)
            rewards[0, stock, order] = wanted @ (sold - 0.1 * (held - sold)) - 0.4 * order
    least = -0.1 * most - 0.4 * (spec.actions - 1)
    return Model(transitions, (rewards - least) / (most - least), start_in(0, spec.states), horizon)


@register("replacement", example="replacement/8", horizon=20)
def replacement(states: int, horizon: int, wear: float = 0.6) -> Model:
    """A machine that wears: keep it, which pays less the more it is worn, or replace it, which pays nothing that day.

    It wears by one with the chance `wear`, and a fifth of the rest by two. Worn by w of S-1 it pays 1 - (w/(S-1))^2.
    """
    spec = Spec(validation.integer("states", states, 2), 2, horizon)
    validation.between("wear", wear, 0.0, 1.0)
    transitions, rewards = blank(spec)
    top = spec.states - 1
    for worn in range(spec.states):
        for by, chance in ((0, 0.8 * (1 - wear)), (1, wear), (2, 0.2 * (1 - wear))):
            transitions[0, worn, 0, min(worn + by, top)] += chance
        rewards[0, worn, 0] = 1 - (worn / top) ** 2
    transitions[0, :, 1, 0] = 1.0
    return Model(transitions, rewards, start_in(0, spec.states), horizon)


@register("queue", example="queue/7x3", horizon=20)
def queue(states: int, actions: int, horizon: int, arrivals: float = 0.5) -> Model:
    """A queue of up to S-1 customers: serve faster, which costs more, or let them wait, which costs by their number.

    One arrives with the chance `arrivals`; one is served with the chance (a+1)/(A+1). A step pays 1 less 0.7 of the share of the
    queue that is full and 0.3 a/(A-1).
    """
    spec = Spec(validation.integer("states", states, 2), validation.integer("actions", actions, 2), horizon)
    validation.between("arrivals", arrivals, 0.0, 1.0)
    transitions, rewards = blank(spec)
    top = spec.states - 1
    for waiting in range(spec.states):
        for fast in range(spec.actions):
            served = (fast + 1) / (spec.actions + 1) if waiting else 0.0
            for come, chance in ((0, 1 - arrivals), (1, arrivals)):
                transitions[0, waiting, fast, min(waiting + come, top)] += chance * (1 - served)
                transitions[0, waiting, fast, max(waiting - 1, 0) + come] += chance * served
            rewards[0, waiting, fast] = 1 - 0.7 * waiting / top - 0.3 * fast / (spec.actions - 1)
    return Model(transitions, rewards, start_in(0, spec.states), horizon)


@register("churn", example="churn/6x3", horizon=16)
def churn(states: int, actions: int, horizon: int, leaving: float = 0.3) -> Model:
    """A customer whose interest fades: offers of several sizes bring it back and cost a part of the income.

    Interest s falls by one with the chance `leaving` (1 - a/A), and rises with 0.35 a/(A-1); at 0 the customer is gone, and comes
    back with a chance of 0.05. A step pays s/(S-1), of which an offer costs 0.5 a/(A-1).
    """
    spec = Spec(validation.integer("states", states, 2), validation.integer("actions", actions, 2), horizon)
    validation.between("leaving", leaving, 0.0, 0.6)
    transitions, rewards = blank(spec)
    top = spec.states - 1
    for interest in range(spec.states):
        for offer in range(spec.actions):
            size = offer / (spec.actions - 1)
            up, down = (0.35 * size, leaving * (1 - offer / spec.actions)) if interest else (0.05, 0.0)
            transitions[0, interest, offer, min(interest + 1, top)] += up
            transitions[0, interest, offer, max(interest - 1, 0)] += down
            transitions[0, interest, offer, interest] += 1 - up - down
            rewards[0, interest, offer] = interest / top * (1 - 0.5 * size)
    return Model(transitions, rewards, start_in((top + 1) // 2, spec.states), horizon)


@register("pricing", example="pricing/6x4", horizon=16, model=PER_STEP)
def pricing(states: int, actions: int, horizon: int, steep: float = 2.0) -> Model:
    """A season's stock of S-1 pieces, one of A prices a day; how many want one changes through the season.

    At price p = (a+1)/A one is sold with the chance exp(-steep (p - 1/A)) (0.2 + 0.8 sin(pi (h+1)/(H+1))), which pays p.
    """
    spec = Spec(validation.integer("states", states, 2), actions, horizon, PER_STEP)
    validation.positive("steep", steep)
    transitions, rewards = blank(spec)
    price = np.arange(1, spec.actions + 1) / spec.actions
    for day in range(horizon):
        sold = np.exp(-steep * (price - price[0])) * (0.2 + 0.8 * math.sin(math.pi * (day + 1) / (horizon + 1)))
        for stock in range(1, spec.states):
            transitions[day, stock, :, stock - 1] = sold
            transitions[day, stock, :, stock] = 1 - sold
            rewards[day, stock] = price * sold
        transitions[day, 0, :, 0] = 1.0
    return Model(transitions, rewards, start_in(spec.states - 1, spec.states), horizon)


@register("garnet", example="garnet/8x3", horizon=15)
def garnet(states: int, actions: int, horizon: int, branching: int = 2, seed: int = 0) -> Model:
    """A random world in which each action leads to few states, and a third of the states pay (Archibald et al. 1995).

    The states that follow are drawn without repetition, and their chances by breaking a stick; a paying state pays a uniform number
    for every action, which takes up to a tenth of it off.
    """
    spec = Spec(validation.integer("states", states, 2), actions, horizon)
    few = validation.integer("branching", branching, 1, spec.states)
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    transitions, _ = blank(spec)
    for s in range(spec.states):
        for a in range(spec.actions):
            cuts = np.concatenate([[0.0], np.sort(rng.uniform(size=few - 1)), [1.0]])
            transitions[0, s, a, rng.choice(spec.states, few, replace=False)] = np.diff(cuts)
    paying = rng.choice(spec.states, max(1, spec.states // 3), replace=False)
    pays = np.zeros((spec.states, 1))
    pays[paying, 0] = rng.uniform(size=paying.size)
    rewards = pays * rng.uniform(0.9, 1.0, (spec.states, spec.actions))
    return Model(transitions, rewards[None], start_in(0, spec.states), horizon)


@register("tutoring", example="tutoring/6x3", horizon=18)
def tutoring(states: int, actions: int, horizon: int, forgetting: float = 0.08) -> Model:
    """A pupil of S levels and exercises of A kinds: too easy teaches nothing, too hard is not solved.

    Exercise a has the level d = a (S-1)/(A-1); at level s it is solved with the chance 1/(1 + exp(d - s - 1)) and pays (d+1)/S if
    it is. Solved at d >= s - 1 the pupil rises with a chance of 0.5; otherwise falls with `forgetting`.
    """
    spec = Spec(validation.integer("states", states, 2), validation.integer("actions", actions, 2), horizon)
    validation.between("forgetting", forgetting, 0.0, 1.0)
    transitions, rewards = blank(spec)
    top = spec.states - 1
    for level in range(spec.states):
        for kind in range(spec.actions):
            hard = kind * top / (spec.actions - 1)
            solved = 1 / (1 + math.exp(hard - level - 1))
            up = 0.5 * solved if hard >= level - 1 else 0.0
            down = forgetting * (1 - up)
            transitions[0, level, kind, min(level + 1, top)] += up
            transitions[0, level, kind, max(level - 1, 0)] += down
            transitions[0, level, kind, level] += 1 - up - down
            rewards[0, level, kind] = solved * (hard + 1) / spec.states
    return Model(transitions, rewards, start_in(0, spec.states), horizon)


@register("courier", example="courier/5", horizon=12, model=PER_STEP)
def courier(states: int, horizon: int, late: float = 0.15, seed: int = 0) -> Model:
    """A courier among zones in a row: wait for an order, or drive left or right; where orders come changes by the hour.

    In zone z at hour h an order comes with the chance b_z (0.15 + 0.85 sin^2(pi (h/H + phi_z))), with b and phi drawn once, and
    pays 1; the courier then is in some zone. A drive arrives unless it is `late`.
    """
    spec = Spec(validation.integer("states", states, 2), 3, horizon, PER_STEP)
    validation.between("late", late, 0.0, 1.0)
    rng = np.random.default_rng(validation.integer("seed", seed, 0))
    base, phase = rng.uniform(0.3, 0.9, spec.states), rng.uniform(size=spec.states)
    transitions, rewards = blank(spec)
    every = np.arange(spec.states)
    for hour in range(horizon):
        order = base * (0.15 + 0.85 * np.sin(np.pi * (hour / horizon + phase)) ** 2)
        transitions[hour, :, 0, :] = order[:, None] / spec.states
        transitions[hour, every, 0, every] += 1 - order
        rewards[hour, :, 0] = order
        for action, by in ((1, -1), (2, 1)):
            transitions[hour, every, action, np.clip(every + by, 0, spec.states - 1)] += 1 - late
            transitions[hour, every, action, every] += late
    return Model(transitions, rewards, np.full(spec.states, 1 / spec.states), horizon)
