"""One word for one thing: a type's name means the same wherever it is defined; pages and help texts have the field's words; tests
pin no sentences.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click

from confide import cli
from tests.test_guide import GUIDE

ROOT = Path(__file__).parents[1]
SOURCES = ("confide", "tools", "benchmarks")
SHARED: dict[str, str] = {}
"""Names that may mean two things, each with the reason. There are none."""


def types_in(source: str) -> dict[str, str]:
    """A module's types by name: "class", or what an alias such as `Array = NDArray[np.float64]` stands for."""
    classes = {name: "class" for name in re.findall(r"^ *class _?([A-Z]\w*)[(:]", source, flags=re.MULTILINE)}
    aliases = re.findall(r"^_?([A-Z][a-z]+[A-Za-z]*)(?:: TypeAlias)? = (.+)$", source, flags=re.MULTILINE)
    return {**classes, **dict(aliases)}


def shared(sources: dict[str, str]) -> dict[str, list[str]]:
    """Names that several modules define, and not as the same alias: the modules of each."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for module, source in sources.items():
        for name, meaning in types_in(source).items():
            places[name].append((module, meaning))
    return {
        name: [module for module, _ in result]
        for name, result in places.items()
        if len(result) > 1 and (len({meaning for _, meaning in result}) > 1 or result[0][1] == "class")
    }


def test_no_two_types_share_a_name() -> None:
    paths = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    result = shared({str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths})
    assert {name: modules for name, modules in result.items() if name not in SHARED} == {}
    assert set(SHARED) <= set(result), "a reason that is no longer needed"


def test_tests_do_not_give_the_packages_names_to_their_own_types() -> None:
    package, tests = (
        {
            str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
            for path in sorted((ROOT / folder).rglob("*.py"))
        }
        for folder in ("confide", "tests")
    )
    known = {name for source in package.values() for name, meaning in types_in(source).items() if meaning == "class"}
    taken = {(name, module) for module, source in tests.items() for name in types_in(source) if name in known}
    assert taken == {("Episode", "tests/analysis/fitting/logs.py")}, (
        "there an episode is rows of a log; give others a new name"
    )


DIALECT = re.compile(
    r"\b(whoever|nobody|anybody|everybody|somebody|so many|as it comes|in that very world|as now|machine alone|stands? out"
    r"|stood out|luck|earned|worth|told|asked|answer(?:s|ed)?|questions?|letters?|parcels?|doors?|offices?|books?|crowds?|scouts?"
    r"|promise[sd]?)\b",
    flags=re.IGNORECASE,
)
"""How things were once called here: now user, guarantee, sampling error, return, value, statistic, submission."""
SAID = {"(users=0, answered=0)", "The question", "Question"}
"""A repr, the heading of an experiment, and the name of a class."""
WRITTEN = {"mutants.md"}
"""A record of mistakes that were planted, in the words of each."""


def dialect(text: str) -> list[str]:
    """Such words of a page, outside of what is quoted as code."""
    for hidden in (r"^```.*?^```", r"^<!-- measured -->.*?^<!-- end -->"):
        text = re.sub(hidden, "", text, flags=re.DOTALL | re.MULTILINE)
    return DIALECT.findall(re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", text)))


def test_pages_have_the_words_of_the_field() -> None:
    pages = [
        *GUIDE,
        *(ROOT / name for name in ("README.md", "SECURITY.md", "js/README.md", "docs/json.md", "docs/map.md")),
    ]
    found = {
        str(page.relative_to(ROOT)): dialect(page.read_text("utf-8")) for page in pages if page.name not in WRITTEN
    }
    assert len(found) > 50 and {page: words for page, words in found.items() if words} == {}


def test_code_in_pages_has_the_words_of_the_field() -> None:
    found = {
        str(page.relative_to(ROOT)): words
        for page in (*GUIDE, ROOT / "README.md", ROOT / "js" / "README.md")
        for block in re.findall(r"^```.*?^```", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        if (words := [word for word in DIALECT.findall(block) if not STATISTICS.match(word)])
    }
    assert found == {}


def helps(command: click.Command, name: str) -> dict[str, str]:
    """What a command and those below it say of themselves and of their options."""
    texts = [command.help, command.short_help, command.epilog]
    for option in command.params:
        if isinstance(option, click.Option):
            texts += [option.help, *option.opts, *option.secondary_opts]
    found = {name: "\n".join(text for text in texts if text)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            assert below is not None
            found |= helps(below, f"{name} {word}")
    return found


def test_help_texts_have_the_words_of_the_field() -> None:
    found = {name: dialect(text) for name, text in helps(cli.command, "confide").items()}
    assert len(found) > 30 and {name: words for name, words in found.items() if words} == {}


def said(source: str) -> Iterator[tuple[int, str]]:
    """Sentences in a program's strings with their lines, an f-string's parts joined; not docstrings and lower-case words."""
    tree = ast.parse(source)
    silent = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent |= {id(part) for part in node.values}
            text = "0".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            text = node.value
        else:
            continue
        if " " in text.strip() or text.istitle():
            yield node.lineno, text


def shown(source: str) -> list[str]:
    """What a page of HTML shows, and sentences in strings of a script, apart from what is computed into them."""
    found = re.findall(r'"([^"]* [^"]*)"', "\n".join(re.findall(r'"[^"\n]*"', source)))
    for _ in range(3):  # as deep as they are nested
        source = re.sub(r"\$\{[^{}]*\}", "0", source)
    return found + re.findall(r"`([^`\n]* [^`\n]*)`", source) + re.findall(r">([^<>{}=;&|]* [^<>{}=;&|]*)<", source)


def test_messages_have_the_words_of_the_field() -> None:
    """Errors, warnings, certificates, reports and tables: every sentence that a program says."""
    found = [
        (str(path.relative_to(ROOT)), line, words)
        for path in sorted((ROOT / "confide").rglob("*.py"))
        for line, text in said(path.read_text(encoding="utf-8"))
        if (words := dialect(text)) and text not in SAID
    ]
    assert found == []


def test_pages_of_services_have_the_words_of_the_field() -> None:
    """Users of a service read `promise` there, which is plain English."""
    sources = sorted((ROOT / "confide" / "service" / "dashboard" / "static").glob("*.[hj]*"))
    sources += sorted((ROOT / "js" / "src").glob("*.js"))
    found = {
        (path.name, text): words
        for path in sources
        for text in shown(path.read_text(encoding="utf-8"))
        if (words := [word for word in dialect(text) if not word.lower().startswith("promise")])
    }
    assert len(sources) > 20 and found == {}


def test_public_names_have_the_words_of_the_field() -> None:
    """The reference: names, and the first sentence of each. Kinds of statistics are questions, which are asked and answered."""
    text = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| \[(\w+)\]", text, flags=re.MULTILINE)
    parts = [part for name in names for part in re.findall(r"[A-Z]?[a-z]+", name)]
    words = [word for part in (text, *parts) for word in dialect(part)]
    assert len(names) > 300 and [word for word in words if not re.match("question|answer|asked", word.lower())] == []


def test_codes_of_errors_have_the_words_of_the_field() -> None:
    text = (ROOT / "docs" / "reference" / "codes.md").read_text(encoding="utf-8")
    codes = set(re.findall(r"^\| `([a-z0-9-]+)`", text, flags=re.MULTILINE))
    words = {code: dialect(code.replace("-", " ")) for code in codes}
    taken = {
        code for code, found in words.items() if any(not re.match("question|answer|asked", word) for word in found)
    }
    assert len(codes) > 500 and (taken, dialect(text)) == (set(), [])


def explained(source: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings, those of constants included, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def remarked(source: str) -> Iterator[tuple[int, str]]:
    """Comments of a script, with their lines."""
    for found in re.finditer(r"/\*.*?\*/|(?<!:)//[^\n]*", source, flags=re.DOTALL):
        yield source.count("\n", 0, found.start()) + 1, found.group()


STATISTICS = re.compile(r"(asked|answer(s|ed)?|questions?)$", flags=re.IGNORECASE)
"""A kind of statistic is a `Question` in code, which is asked and answered: what its reader learns from `protocol.kinds`."""


def test_comments_and_docstrings_have_the_words_of_the_field() -> None:
    paths = [path for folder in (*SOURCES, "examples", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    scripts = [
        path
        for folder in ("js/src", "js/extra", "js/test", "confide/service/dashboard/static")
        for path in sorted((ROOT / folder).glob("*.*js"))
    ]
    found = [
        (str(path.relative_to(ROOT)), line, words)
        for path in (*paths, *scripts)
        for line, text in (explained if path.suffix == ".py" else remarked)(path.read_text(encoding="utf-8"))
        if (words := [word for word in dialect(text) if not STATISTICS.match(word)])
    ]
    assert len(paths) > 700 and len(scripts) > 30 and found == []


def test_explanations_outside_of_the_protocol_speak_of_statistics() -> None:
    """How often they still say question, asked or answer, where code has these names; it only falls."""
    paths = [path for path in sorted((ROOT / "confide").rglob("*.py")) if path.relative_to(ROOT).parts[1] != "protocol"]
    words = [
        word
        for path in paths
        for _, text in explained(path.read_text(encoding="utf-8"))
        for word in dialect(text)
        if STATISTICS.match(word)
    ]
    assert len(words) <= 440


def test_what_is_explained_is_seen() -> None:
    source = '"""Nobody."""\nx = 1  # whoever asks\nWORTH = "nobody"\n"""`told` so many."""\n'
    script = 'let a = "http://nobody"; // told\n/** {promise}\n * `parcel` */\n'
    assert [(line, dialect(text)) for line, text in remarked(script)] == [(1, ["told"]), (2, ["promise"])]
    assert [(line, dialect(text)) for line, text in explained(source)] == [
        (2, ["whoever"]),
        (1, ["Nobody"]),
        (4, ["so many"]),
    ]


def test_what_is_said_is_seen() -> None:
    source = '"""Nobody."""\nraise Refused("a-code", f"{x} is told {y} to nobody.")\nname = "worth"\n'
    assert [dialect(text) for _, text in said(source)] == [["told", "nobody"]]
    page = '<p>it is told</p>\nput(`a ${told.worth} letter`, "one door")'
    assert [dialect(text) for text in shown(page)] == [["door"], ["letter"], ["told"]]


def test_dialect_is_seen_and_code_is_not() -> None:
    assert dialect("Nobody is told what it is worth.") == ["Nobody", "told", "worth"]
    assert dialect("The `promise` of\n```\nwhoever\n```\na [guarantee](letter.md).") == []


def pinned(source: str) -> list[str]:
    """Sentences of four words or more that a test matches in an error: it should match the code (`tests.refusals.refused`)."""
    tree = ast.parse(source)
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for node in ast.walk(tree):
        for word in node.keywords if isinstance(node, ast.Call) else ():
            value = named.get(word.value.id, word.value) if isinstance(word.value, ast.Name) else word.value
            parts = value.values if isinstance(value, ast.JoinedStr) else [value]
            text = "0".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
            if word.arg == "match" and any(len(_words(one)) > 3 for one in text.split("|")):
                found.append(text)
    return found


def _words(pattern: str) -> list[str]:
    return re.findall(r"[A-Za-z][\w'-]*", re.sub(r"\\\w|\.[*+]", " ", pattern))


def test_no_test_pins_a_sentence() -> None:
    paths = sorted((ROOT / "tests").rglob("*.py"))
    found = {str(path.relative_to(ROOT)): pinned(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: sentences for path, sentences in found.items() if sentences} == {}


def test_pinned_sentences_are_seen() -> None:
    says, call = "SAYS = 'one two three four'\n", "pytest.raises(ValueError, match={})\n"
    assert pinned(says + call.format("SAYS")) == ["one two three four"]
    assert pinned(call.format("f'one two {x} three four'")) == ["one two 0 three four"]
    assert pinned(call.format(r"r'one two .*three\d 0.5|four five'") + call.format("says")) == []


def test_two_meanings_are_seen_and_one_is_not() -> None:
    array, other = "Array = NDArray[np.float64]\n", "Array: TypeAlias = NDArray[np.int64]\n"
    assert shared({"a": array, "b": array}) == {}
    assert shared({"a": array, "b": other}) == {"Array": ["a", "b"]}
    assert shared({"a": "class Wall: ...", "b": "class _Wall: ...", "c": "WALL = 1"}) == {"Wall": ["a", "b"]}
    assert shared({"a": "class Wall: ...", "b": "Wall = int"}) == {"Wall": ["a", "b"]}
