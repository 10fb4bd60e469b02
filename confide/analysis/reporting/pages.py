"""Pages of one file: legible on a telephone and on a desk, in the light and in the dark, and on A4.

Pages of experiments: one for each, and a gallery of all. Plain HTML, no network, no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

GALLERY_STYLE = """
:root{--ink:#222;--soft:#666;--line:#ddd}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);background:#fff;max-width:60rem;
margin:2.5rem auto;padding:0 1.2rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .4rem}
h2{font-size:1.1rem;margin:2.2rem 0 .5rem}
p{margin:.45rem 0;max-width:46rem}
a{color:#0b5c94}
.soft{color:var(--soft);font-size:.88rem}
img{max-width:100%;height:auto;display:block;margin:1rem 0}
table{border-collapse:collapse;font-size:.85rem;margin:.6rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft)}
.scroll{overflow-x:auto}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:1.6rem;margin:1rem 0}
.card{border:1px solid var(--line);border-radius:6px;padding:.8rem;overflow:hidden}
.card img{margin:0 0 .6rem;height:10rem;width:100%;object-fit:contain}
.card a{text-decoration:none;color:inherit;display:block}
.card b{display:block;line-height:1.3}
footer{margin:3rem 0 1rem;border-top:1px solid var(--line);padding-top:.7rem;color:var(--soft);font-size:.85rem}
"""


@dataclass(frozen=True)
class GalleryEntry:
    """One experiment in a gallery. `page` and `picture` are links; the picture may be missing."""

    address: str
    title: str
    page: str
    picture: str
    note: str


@dataclass(frozen=True)
class ExperimentText:
    """What a page says of one experiment: headed paragraphs, after the first of them claims with their verdicts and what was
    measured, pictures (links), and a table whose first row is its head."""

    title: str
    address: str
    paragraphs: Sequence[tuple[str, str]]
    pictures: Sequence[str]
    table: Sequence[Sequence[str]]
    claims: Sequence[tuple[str, str, str]] = ()


def experiment_page(text: ExperimentText, footer: str, home: str) -> str:
    """The page of one experiment. home: a link to all of them."""
    title = escape(text.title)
    body = [f'<p class="soft"><a href="{escape(home)}">All experiments</a></p><h1>{title}</h1>']
    body.append(f'<p class="soft">{escape(text.address)}</p>')
    said = [f"<h2>{escape(head)}</h2><p>{escape(words)}</p>" for head, words in text.paragraphs if words]
    if text.claims:
        said.insert(
            1, f"<h2>Claims, and what was measured</h2><ul>\n{''.join(_claim(*one) for one in text.claims)}</ul>"
        )
    body += said
    body.append("<h2>The result</h2>")
    body += [f'<img src="{escape(name)}" alt="{title}">' for name in text.pictures]
    body.append(_table(text.table))
    return _page(text.title, "\n".join(body), footer)


def _claim(said: str, verdict: str, measured: str) -> str:
    """A claim as an entry of a list: what is said, the verdict, what was measured."""
    return f'<li>{escape(said)}: <b>{escape(verdict)}</b>. <span class="soft">{escape(measured)}</span></li>\n'


def gallery_page(groups: Sequence[tuple[str, Sequence[GalleryEntry]]], introduction: str, footer: str) -> str:
    """The gallery: cards in groups."""
    parts = ["<h1>Every figure and table, ours beside theirs</h1>", f"<p>{escape(introduction)}</p>"]
    for name, entries in groups:
        cards = "".join(map(_card, entries))
        parts.append(f'<h2>{escape(name)}</h2><div class="cards">{cards}</div>')
    return _page("Reproductions", "\n".join(parts), footer)


def _card(entry: GalleryEntry) -> str:
    picture = f'<img src="{escape(entry.picture)}" alt="">' if entry.picture else ""
    caption = f'<b>{escape(entry.title)}</b><span class="soft">{escape(entry.address)}<br>{escape(entry.note)}</span>'
    return f'<div class="card"><a href="{escape(entry.page)}">{picture}{caption}</a></div>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f'<div class="scroll"><table><tr>{heads}</tr>{lines}</table></div>'


def _page(title: str, body: str, footer: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{GALLERY_STYLE}</style></head><body>\n{body}\n"
        f"<footer>{escape(footer)}</footer></body></html>\n"
    )


STYLE = """
:root{color-scheme:light dark;--ink:#222;--soft:#5c5c5c;--line:#ddd;--back:#eee;--paper:#fff;--yes:#00694d;--no:#8a4b00}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e8e6e3;--soft:#a8a49d;--line:#3a3a3a;--back:#333;--paper:#161616;
--yes:#3fc49a;--no:#e0a050;--c0:#4fa8e0;--c3:#dd9cc0;--c5:#f08a3c;--c6:#a5a5a5;--c8:#f5f5f5}}
*{box-sizing:border-box}
body{font:17px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);background:var(--paper);max-width:46rem;
margin:2.5rem auto;padding:0 1.2rem;overflow-wrap:break-word}
header{border-left:6px solid var(--no);padding:.2rem 0 .2rem 1.1rem;margin-bottom:2rem}
header.yes{border-color:var(--yes)}
.verdict{margin:.6rem 0}.verdict dt{font-weight:600;margin-top:.5rem}.verdict dd{margin:0}
h1{font-size:1.55rem;line-height:1.25;margin:0 0 .4rem}
h2{font-size:1.12rem;margin:2.4rem 0 .5rem}
p{margin:.45rem 0}
a{color:inherit;text-decoration-style:dotted;text-underline-offset:.15em}
.soft,figcaption{color:var(--soft);font-size:.88rem}
figure{margin:1rem 0}svg{max-width:100%;height:auto;display:block}
.narrow{display:none}
table{border-collapse:collapse;font-size:.9rem;margin:.6rem 0;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft)}
td.key,th.key{white-space:nowrap}
.dot{display:inline-block;width:.75em;height:.75em;border-radius:.2em;margin-right:.45em}
.scroll{overflow-x:auto}
dt{font-weight:600;margin-top:.6rem}dd{margin:0 0 .3rem 0}
dt:target{background:var(--back)}
footer{margin:3rem 0 1rem;border-top:1px solid var(--line);padding-top:.7rem;color:var(--soft);font-size:.85rem}
@media screen and (max-width:560px){body{margin:1.2rem auto;padding:0 1rem}.wide{display:none}.narrow{display:block}
h1{font-size:1.3rem}table.stack tr{display:block;border-bottom:1px solid var(--line);padding:.35rem 0}
table.stack tr.head{display:none}table.stack td,table.stack th{display:block;border:0;padding:0 0 .1rem}
table.stack td[data-name]::before{content:attr(data-name) ": ";color:var(--soft)}}
@page{size:A4;margin:16mm}
@media print{body{margin:0;max-width:none;font-size:10.5pt}figure,tr,li,header{break-inside:avoid}h2{break-after:avoid}
p{orphans:3;widows:3}a{text-decoration:none}}
"""

NOTEBOOK = """<style>.confide{max-width:46rem}.confide header{border-left:6px solid #8a4b00;padding-left:1.1rem}
.confide header.yes{border-color:#00694d}.confide h1{font-size:1.3rem}.confide .narrow{display:none}.confide svg{max-width:100%}
</style>"""
"""The style of a part of a page that stands in a notebook."""

GLOSSARY: dict[str, tuple[str, str]] = {
    "practice": (
        "Current practice",
        "What was done when the log was written, whatever the reasons. Its value is the mean return in the log.",
    ),
    "worth": (
        "Value",
        "The sum of all rewards of one episode, on average, in the units of the log.",
    ),
    "interval": (
        "Interval, confidence",
        "The true number lies between the ends of a 95 % interval in at least 95 of 100 such studies. Both the sampling error "
        "of who was logged and the privacy noise are counted.",
    ),
    "surely": (
        "Surely better",
        "The whole interval of the difference lies above zero.",
    ),
    "promise": (
        "Guarantee, epsilon, delta, rho",
        "How little anything that is published changes if one person's data are replaced by another's. Epsilon bounds the "
        "change of an attacker's odds (by a factor e^epsilon), delta is the probability that this fails, and rho says the same in "
        "a unit that adds up over several releases. Smaller is more private.",
    ),
    "noise": (
        "Noise",
        "Random numbers added once to every count before anything else is done. What does not exceed it is not acted on.",
    ),
    "stands": (
        "Exceeds the noise",
        "A situation and action was logged so often that the noise alone would hardly ever look like that.",
    ),
    "current-practice": (
        "No change",
        "The policy recommends no change: current practice goes on there.",
    ),
    "release": (
        "Release",
        "The noisy counts that were computed once from the data. Everything on this page follows from them, at no further cost.",
    ),
}
"""The terms of a report and what they mean, by the address that links lead to."""


def word(address: str, shown: str) -> str:
    """A term with a link to its entry in the glossary."""
    return f'<a href="#word-{address}">{shown}</a>'


def glossary() -> str:
    """The glossary at the end of a page."""
    body = "".join(
        f'<dt id="word-{key}">{escape(name)}</dt><dd>{escape(text)}</dd>' for key, (name, text) in GLOSSARY.items()
    )
    return f"<dl>{body}</dl>"


def section(title: str, body: str) -> str:
    """A section, or nothing if it has no body."""
    return f"<section><h2>{title}</h2>{body}</section>" if body else ""


def page(title: str, body: str) -> str:
    """A page of HTML that needs nothing else."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """A table of labels and values."""
    body = "".join(f'<tr><th class="key">{escape(label)}</th><td>{escape(value)}</td></tr>' for label, value in rows)
    return f'<table class="stack">{body}</table>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose rows are blocks on a telephone; cells are HTML."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-name="{escape(head)}">{cell}</td>' for head, cell in zip(heads, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<table class="stack"><thead><tr class="head">{top}</tr></thead><tbody>{body}</tbody></table>'
