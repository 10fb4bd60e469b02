"""The texts of the pages on logged people, with numbers from their data."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from .facts import Claim, Facts, number
from .terms import Terms, fitted


def _listed(facts: Facts, labels: list[str], place: float | None = None) -> str:
    """Labels with their means, least first."""
    return ", ".join(f"{label} {number(facts.at(label, place))}" for label in facts.among(labels, place))


def seen_1a(facts: Facts) -> list[Claim]:
    """The claims of figure 1 (a): every side as printed, then every side tuned, at the same true guarantee."""
    pevi, vapvi, private = "PEVI as printed", "VAPVI as printed", "DP-VAPVI as printed, rho 10"
    bare = "DP-VAPVI as printed without D/K, rho 10"
    tuned_open, tuned = ["PEVI", "VAPVI", "ours, no privacy"], ["DP-PEVI, rho 10", "DP-VAPVI, rho 10", "ours, rho 10"]
    spread = max(facts.at(name) for name in tuned_open) - min(facts.at(name) for name in tuned_open)
    near = facts.at("DP-VAPVI, rho 389") / facts.at("VAPVI")
    return [
        facts.of_paper(
            "DP-VAPVI does better than PEVI, with the printed constants on both sides",
            facts.at(private) < facts.at(pevi),
            f"at the last number of episodes the gaps are {number(facts.at(private))} and {number(facts.at(pevi))}",
        ),
        facts.of_paper(
            "DP-VAPVI does better than PEVI, with tuned constants on both sides",
            facts.at("DP-VAPVI, rho 10") < facts.at("PEVI"),
            f"{_listed(facts, ['DP-VAPVI, rho 10', 'PEVI'])}",
        ),
        facts.of_paper(
            "DP-VAPVI is only slightly worse than VAPVI and comes near to it",
            facts.at(private) < 2 * facts.at(vapvi) or facts.at("DP-VAPVI, rho 10") < 2 * facts.at("VAPVI"),
            f"as printed {number(facts.at(private))}, without D/K {number(facts.at(bare))}, beside {number(facts.at(vapvi))}; "
            f"tuned {number(facts.at('DP-VAPVI, rho 10'))} beside {number(facts.at('VAPVI'))}; with the budget of about rho 389 "
            "that the printed noise keeps for features of norm sqrt(7), as in the published simulation, still "
            f"{near:.0f} times the gap of VAPVI",
        ),
        facts.judged(
            "Without privacy the three algorithms are level once each is tuned",
            spread < 0.05,
            _listed(facts, tuned_open),
        ),
        facts.judged(
            "At the same true rho of 10, each side tuned, ours has the smallest gap",
            facts.among(tuned)[0] == "ours, rho 10",
            _listed(facts, tuned),
        ),
        facts.judged(
            "As printed, the penalty of DP-VAPVI with E/2 and D/K hides all later values, so that more episodes hardly help",
            facts.at(private) > 0.9 * facts.at(private, 5),
            f"the gap goes from {number(facts.at(private, 5))} to {number(facts.at(private))}",
        ),
    ]


def seen_1b(facts: Facts) -> list[Claim]:
    """The claims of figure 1 (b)."""
    budgets = (1, 10, 100)

    def fall(name: str) -> bool:
        return all(
            facts.at(f"{name}, rho {more}") < facts.at(f"{name}, rho {less}") for less, more in pairwise(budgets)
        )

    def gaps(name: str) -> str:
        return ", ".join(number(facts.at(f"{name}, rho {rho}")) for rho in budgets)

    def shares(name: str) -> list[float]:
        return [facts.ratio(f"ours, rho {rho}", f"{name}, rho {rho}") for rho in budgets]

    printed = "DP-VAPVI as printed"
    return [
        facts.of_paper(
            "The larger the budget, the smaller the gap, with printed constants",
            fall(printed),
            f"{gaps(printed)} at rho 1, 10 and 100",
        ),
        facts.of_paper(
            "The larger the budget, the smaller the gap, each budget tuned",
            all(map(fall, ("DP-VAPVI", "DP-PEVI", "ours"))),
            f"DP-VAPVI {gaps('DP-VAPVI')}, DP-PEVI {gaps('DP-PEVI')}, ours {gaps('ours')} at true rho 1, 10 and 100",
        ),
        facts.of_paper(
            "With a large budget DP-VAPVI is near VAPVI",
            facts.at("DP-VAPVI, rho 100") < 2 * facts.at("VAPVI")
            or facts.at(f"{printed}, rho 100") < 2 * facts.at("VAPVI as printed"),
            f"tuned {number(facts.at('DP-VAPVI, rho 100'))} at rho 100 beside {number(facts.at('VAPVI'))}, as printed "
            f"{number(facts.at(f'{printed}, rho 100'))} beside {number(facts.at('VAPVI as printed'))}",
        ),
        *(
            facts.judged(
                f"At the same true rho, each side tuned, ours has a smaller gap than {name}",
                max(shares(name)) < 1,
                f"{', '.join(f'{share:.2f}' for share in shares(name))} of its gap at rho 1, 10 and 100",
            )
            for name in ("DP-VAPVI", "DP-PEVI")
        ),
    ]


def seen_theorem(facts: Facts) -> list[Claim]:
    """The claims of Theorem 3.3."""
    bound, printed, tuned = "the bound, hidden constants 1", "DP-APVI as printed", "DP-APVI, tuned"
    table = "DP-APVI as printed, with a public table of transitions"
    limit, gap = facts.of(bound), facts.of(printed)
    above = [
        f"{place:,.0f} people ({value:.3g} for {most:.3g})"
        for place, value, most in zip(gap.x, gap.mean, limit.mean, strict=True)
        if value > most
    ]
    vacuous = [place for place, value in zip(limit.x, limit.mean, strict=True) if value > HORIZON]
    shown = (gap.mean > 0) & (limit.mean < HORIZON)
    fit = fitted(replace(gap, x=gap.x[shown], rows=gap.rows[:, shown]), OWN_FORM) if shown.sum() > 1 else None
    return [
        facts.judged(
            "The bound of Theorem 3.3, with its hidden constants at 1, holds for DP-APVI as printed",
            not above,
            f"it is exceeded at {'; '.join(above)}" if above else "it is exceeded at no number of people",
        ),
        facts.judged(
            "It says something at every number of people",
            not vacuous,
            f"up to {max(vacuous, default=0):,.0f} people it exceeds the horizon, by privacy's lower-order term",
        ),
        facts.judged(
            "Measured gaps have the form of the theorem, a/sqrt(n) + b/n, where the bound is below the horizon",
            fit is not None and fit.holds,
            "too few numbers of people"
            if fit is None
            else f"no constants fit better than to {fit.misfit:.0%}: a policy is one of few, so that a gap falls in steps",
        ),
        facts.judged(
            "A public table of possible transitions, which the paper does not have, makes gaps smaller",
            facts.at(table, 1e7) < facts.at(printed, 1e7),
            f"{number(facts.at(table, 1e7))} for {number(facts.at(printed, 1e7))} at 10^7 people",
        ),
        facts.judged(
            "The cost of privacy is of lower order: with tuned constants DP-APVI and APVI are level from 10^4 people on",
            abs(facts.at(tuned, 1e4) - facts.at("APVI, tuned", 1e4)) < 0.01,
            f"{number(facts.at(tuned, 1e4))} and {number(facts.at('APVI, tuned', 1e4))} at 10^4 people; as printed "
            f"{number(facts.at(printed, 1e6))} and {number(facts.at('APVI as printed', 1e6))} still at 10^6",
        ),
    ]


OWN_FORM = Terms(("1/sqrt(n)", "1/n"), lambda people: people**-0.5, lambda people: 1 / people)

HORIZON = 8
"""Of the small clinic."""


def seen_clinic(facts: Facts) -> str:
    """The text of the small clinic."""
    gains = [facts.at(f"ours, rho {rho:g}", 100) - facts.at(f"DP-APVI, rho {rho:g}", 100) for rho in (0.05, 0.5)]
    level = all(
        abs(facts.at(f"{side}, rho {rho:g}", 3e4) - facts.at("APVI", 3e4)) < 0.01
        for side in ("ours", "DP-APVI")
        for rho in (0.05, 0.5)
    )
    gap = {
        people: facts.at("ours, rho 0.5", people) - facts.at("DP-APVI, rho 0.5", people) for people in (3000, 10_000)
    }
    return " ".join(
        [
            f"With 100 people ours is worth {gains[0]:.2g} and {gains[1]:.2g} more than DP-APVI at rho 0.05 and 0.5,",
            facts.claim(min(gains) > 0, "because it keeps to current practice where it knows nothing."),
            f"With 3,000 people at rho 0.5 the difference is {gap[3000]:+.2g}, with 10,000 it is {gap[10_000]:+.2g};",
            facts.claim(level, "from 30,000 people on the two are level, and as good as no privacy."),
        ]
    )


def seen_icu(facts: Facts) -> str:
    """The text of ICU-Sepsis."""
    promise = "rho 0.5"
    places = [power for power in (5, 6, 7) if 10.0**power in facts.of(promise).x]
    values, other = (
        ", ".join(f"{facts.at(label, 10.0**power):.3f}" for power in places)
        for label in (promise, f"{promise}, no public support")
    )
    *first, last = (f"10^{power}" for power in places)
    after = f"{', '.join(first)} and {last}" if first else last
    best = facts.at("no privacy")
    return " ".join(
        [
            facts.claim(
                all(best - float(result.mean[-1]) < 0.01 for result in facts.results),
                "Every promise leads to the best policy in the end.",
            ),
            f"At rho 0.5 with a public table of possible transitions a policy is worth {values} after {after} "
            f"patients, without that table {other}.",
            "At 10^4 patients counts are all noise, and the policy is near the clinicians' own.",
        ]
    )
