"""Each idea has one owner: what tells a second copy stands in no other file.

A row names the idea, its owner, what a copy would have to write, and the files that may write it, with the reason where
it is not the owner itself. ARCHITECTURE.md lists the owners.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests import house


class Idea(NamedTuple):
    """An idea, the file that owns it, what gives a copy away, and who else may write that, and why."""

    what: str
    owner: str
    sign: str
    others: Mapping[str, str] = MappingProxyType({})


IDEAS = [
    Idea(
        "whether the model certainly has the goal at a row, certainly lacks it, or nobody can tell",
        "mace/tables/decide.py",
        r"\b(surely|possible)\(compare",
        {"mace/tables/margins.py": "what the two mean"},
    ),
    Idea("what a table may be", "mace/tables/validity.py", r"def validate\b"),
    Idea(
        "a box: an interval or a set of levels for each axis",
        "mace/space/axes.py",
        r"^(class \w*Box\b|Box: TypeAlias)",
        {
            "mace/problem/exclusions.py": "a box that is excluded, made of axes' own",
            "mace/solve/ensembles/arrays/walk.py": "cells in arrays, for compiled code",
            "mace/language/interval.py": "features by name, for programs that know no axes",
            "mace/search/blackbox.py": "a model that nobody looks into",
        },
    ),
    Idea(
        "what a set of levels or features holds that is written as a mask",
        "mace/base/bits.py",
        r"for (\w+) in range\(.*>> \1 & 1\b",
    ),
    Idea("which oracle may answer a question", "mace/solve/choice.py", r"\bPROVERS\b"),
    Idea(
        "what of an oracle's proof counts before the checker has read it",
        "mace/certify/recheck.py",
        r"\brecheck\(|\boracle\.ask\(|\bbracket_(optimum|within)\(",
        {
            "mace/solve/driver.py": "the driver itself",
            **dict.fromkeys(
                (
                    "mace/explain/nearest/search.py",
                    "mace/explain/nearest/levels.py",
                    "mace/explain/nearest/shortfall.py",
                    "mace/explain/probabilities/means.py",
                ),
                "how the oracle is asked, through `read`",
            ),
            "mace/verify/ask.py": "how the oracle is asked, through `read`",
            "mace/solve/ensembles/prover.py": "the same question with fewer levels, for who asks it through `read`",
            "mace/explain/probabilities/softmax.py": "points alone, to be asked of the model: no bound of them counts",
        },
    ),
    Idea(
        "what one norm leaves to later objectives, as a condition on points and boxes",
        "mace/problem/budget.py",
        r"^class \w*Budget\b",
    ),
    Idea(
        "what a norm charges for a change, in the sum and in the largest",
        "mace/problem/distance.py",
        r"\.(alpha|beta|once|slope)\b[^\n]* \* delta",
    ),
    Idea("the last float for which a monotone test holds", "mace/base/exact.py", r"\(low \+ high\) // 2|low >> 1"),
    Idea(
        "what is superfluous in a set, and which sets suffice", "mace/explain/combinatorics/subsets.py", r"\bhitting_"
    ),
    Idea(
        "what a goal means of a model in its space",
        "mace/explain/explainer.py",
        r"goal_text import .*\bwanted\b",
        {"mace/explain/unread/aim.py": "of a model that is only asked, whose classes may have to be found out"},
    ),
    Idea("what a word that nobody knows may have meant", "mace/base/suggestions.py", r"\bdifflib\b"),
    Idea(
        "a file that is written whole, or not at all", "mace/base/files.py", r"\bmkstemp\b|\.replace\((path|target)\)"
    ),
    Idea("whether something is a table of rows, or one row", "mace/base/arguments.py", r'"ndim", \d\) == 2'),
    Idea("a program with other statements or values", "mace/language/syntax.py", r"replace\(\w+, (test=.*)?then="),
    Idea("the gap that a caller wants", "mace/solve/protocol.py", r"\bas_written\((self\.)?r?gap\b|\b_not_negative\("),
    Idea(
        "the first few of many words in a message",
        "mace/base/suggestions.py",
        r'", ?\.{2,3}"|", \.{2,3}\b|" and \{.* more"',
    ),
    Idea(
        "a value of a feature as people read it, and by how much it moves",
        "mace/base/figures.py",
        r":\+?,\.\d+g|\b(int|float)\)\) and not isinstance\(\w+, bool\) else one_line",
    ),
    Idea(
        "how many of something, in words",
        "mace/base/figures.py",
        r"'' if \w+(\.\w+)* == 1 else 's'|\"1 (row|point)\" if",
    ),
    Idea("whether the values of a feature lie in an order", "mace/space/feature.py", r'numeric or .{0,20}"ordinal"'),
    Idea(
        "what three truth values make together: true, false, either",
        "mace/language/interval.py",
        r"\bNO if NO in\b",
    ),
    Idea("what people import a class by", "compilers/library.py", r"__module__\}\.\{"),
    Idea("how much time is left", "mace/base/deadline.py", r"\bmonotonic\b"),
    Idea(
        "a value as Python and JSON see it",
        "mace/base/values.py",
        r"np\.generic\b",
        {"mace/audit/digest.py": "tells types apart, since equal digests must mean equal questions"},
    ),
    Idea("what an exit code means", "mace/base/exit_codes.py", r"\bUNDECIDED\b.* = |\bUNDECIDED = "),
    Idea(
        "how a search for an optimum may end, and after which ends more time changes nothing",
        "mace/solve/status.py",
        r'in \("optimal", "infeasible"\)|"optimal", "bounded", "infeasible", "unknown"\]',
    ),
    Idea(
        "text that reaches a terminal",
        "mace/base/escape.py",
        r"unicodedata|import Console\b|(typer|click)\.echo\(",
        {"mace/base/console.py": "rich's tables, through `escape`", "mace/cli/output.py": "lines, through `escape`"},
    ),
    Idea("the colours of a page, light and dark", "mace/base/colours.py", r"prefers-color-scheme|colours\.css"),
]


@pytest.mark.parametrize("idea", IDEAS, ids=lambda idea: idea.owner)
def test_an_idea_has_one_owner(idea: Idea) -> None:
    writing = {
        path.relative_to(house.ROOT).as_posix()
        for module, path in house.MODULES.items()
        if house.room_of(module) != "mace.proofs"  # The checker shares no code with anything: it is the second road.
        and re.search(idea.sign, path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert writing <= {idea.owner, *idea.others}
    assert set(idea.others) <= writing, "an exception that nobody needs any more"


@pytest.mark.parametrize("idea", IDEAS, ids=lambda idea: idea.owner)
def test_architecture_names_the_owner(idea: Idea) -> None:
    assert f"| {idea.what} | `{idea.owner}` |" in house.ARCHITECTURE.read_text(encoding="utf-8")
