"""Nothing stands twice: no two places of the package share six or more identical lines."""

from __future__ import annotations

from tools import copies

SIX = """
    first = one(1)
    second = two(2)
    third = three(3)
    fourth = four(4)
    fifth = five(5)
    sixth = six(6)
"""


def test_no_two_places_of_the_package_share_six_identical_lines() -> None:
    assert [f"{one} ~ {other}" for one, other in copies.copies(copies.package())] == []


def test_six_lines_are_seen_and_five_are_not() -> None:
    here, there = f"def here():{SIX}    return 1\n", f"def there():{SIX}    return 2\n"
    ((one, other),) = copies.copies({"here.py": here, "there.py": there})
    assert (str(one), str(other)) == ("here.py:2-7", "there.py:2-7")
    less = there.replace("    sixth = six(6)\n", "")
    assert copies.copies({"here.py": here, "there.py": less}) == []


def test_white_space_comments_and_brackets_do_not_hide_a_copy_and_imports_are_none() -> None:
    here = f"def here():{SIX}"
    lines = SIX.replace("third", "# why\n\n    third").replace("four(4)", "four(4)  ").replace("    ", "        ")
    there = f"class There:\n    def it(self):{lines}"
    assert len(copies.copies({"here.py": here, "there.py": there})) == 1
    imports = "".join(f"from .room import name{i}\n" for i in range(8))
    assert copies.copies({"here.py": imports, "there.py": imports}) == []


def test_a_copy_in_the_same_file_is_seen() -> None:
    ((one, other),) = copies.copies({"here.py": f"def one():{SIX}    return 1\ndef two():{SIX}    return 2\n"})
    assert (one.first, other.first) == (2, 10)
