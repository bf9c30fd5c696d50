"""Which changes of the kernel no vector notices: every one, each file of `proofs/kernel` by itself.

    python -m tests.mutation.kernel                                   all files
    python -m tests.mutation.kernel --file ensembles.py --every 5     a fifth of one
    python -m tests.mutation.kernel --write                           and record the survivors
    python -m tests.mutation.kernel --prune                           which candidates are needed as vectors
    python -m tests.mutation.kernel --table                           write the survivors into soundness.md

A mutant is noticed if the checker says anything else of a file of `proofs/vectors/`: another verdict (also when it
hangs or fails), another reason, or another claim. Beyond the changes of `changes.py` an assignment, a raise, an `if`
and a text are changed too, and what rounds, or takes the least or all, into its opposite. What only people read
(messages) stays.
Which vector noticed a mutant is kept in a file outside of the source, and is tried first in the next run.
`survivors.json` holds those that no vector notices, by file and by the reason for which each can stay; a reason is
written by whoever looked at it. soundness.md shows them. With `--prune` also the
candidates of `tests/proofs/make_vectors.py` are tried that are no files; those that noticed a mutant first become the
files, and the other ones go: what is noticed stays so.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import json
import os
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import mace.proofs.check  # noqa: F401  # the mutants are loaded in its place
from mace.proofs.reader import Unusable, load, parse
from tests.mutation.changes import changes, decides_nothing, replace
from tests.proofs import make_vectors

PROOFS = Path(__file__).resolve().parents[2] / "proofs"
RECORD = Path(__file__).parent / "survivors.json"
SOUNDNESS = PROOFS / "soundness.md"
BEGIN, END = "<!-- written by python -m tests.mutation.kernel --table -->", "<!-- until here -->"
KEPT = Path(tempfile.gettempdir()) / "mace-kernel-mutants.json"
# Each after those that it imports.
FILES = (
    "floats", "fields", "axes", "world", "forms", "lines", "statement", "state", "ensembles", "cliques", "prices",
    "networks", "relaxation", "proof", "sets", "rows", "actions", "plans",
)  # fmt: skip
MODULES = [*(f"kernel.{name}" for name in FILES), "elaborate_trees", "elaborate_networks", "convert", "check"]
OF_TREES = (
    "floats",
    "fields",
    "axes",
    "statement",
    "state",
    "ensembles",
    "proof",
)  # what a certificate about trees rests on
SECONDS, BYTES = 1.0, 3 * 2**30  # of processor time for one vector, and of memory
OPPOSITE = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceiling", "ceiling": "floor"}


class Hangs(BaseException):
    """A vector takes far longer than it should."""


class Change(NamedTuple):
    """One mutant: the function that it is in, the line, what stands there before and after, and around it."""

    function: str
    line: int
    old: ast.AST
    new: ast.AST
    around: ast.AST

    @property
    def key(self) -> str:
        """As survivors are recorded; a constant says where it stands."""
        before, after = (" ".join(ast.unparse(node).split()) for node in (self.old, self.new))
        place = " ".join(ast.unparse(self.around).split())[:70] if isinstance(self.old, ast.Constant) else ""
        return f"{self.function}: {before} -> {after}{place and f' in {place}'}".removeprefix(": ")


def stricter(node: ast.AST) -> Iterator[ast.AST]:
    """What else may stand instead of a node of the kernel."""
    match node:
        case ast.Assign() | ast.Raise() | ast.AnnAssign(value=ast.expr()):
            yield ast.Pass()
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub() as op, value=value):
            yield ast.AugAssign(target, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), value)
        case ast.If(orelse=other):
            yield ast.If(ast.Constant(False), [ast.Pass()], other)
        case ast.Constant(value=str() as value):
            yield ast.Constant(f"{value}?")
        case ast.Call(func=ast.Name(id=name), args=values, keywords=more) if name in OPPOSITE:
            yield ast.Call(ast.Name(OPPOSITE[name], ast.Load()), values, more)
        case ast.Call(func=ast.Name(id="abs"), args=[value]) | ast.UnaryOp(op=ast.Invert(), operand=value):
            yield value
        case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp():
            for k, loop in enumerate(node.generators):
                if loop.ifs:
                    other = copy.copy(node)
                    free = ast.comprehension(loop.target, loop.iter, [], 0)
                    other.generators = [*node.generators[:k], free, *node.generators[k + 1 :]]
                    yield other


def words(tree: ast.AST) -> Iterator[int]:
    """The ids of nodes that only people read: messages, and what a type checker reads."""
    for node in ast.walk(tree):
        aside: list[ast.AST] = []
        if isinstance(node, ast.JoinedStr):
            aside.append(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("need", "Refused"):
            aside += node.args[-1:]
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            aside.append(node)
        for inner in aside:
            yield from map(id, ast.walk(inner))


def all_changes(tree: ast.Module) -> list[Change]:
    """Every mutant of a file, as changes of this tree."""
    found: list[Change] = []
    raises = {id(node) for node in ast.walk(tree) if isinstance(node, ast.Raise)}
    skipped = set(words(tree)) | set(decides_nothing(tree)) - raises

    def walk(node: ast.AST, function: str, around: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}".lstrip(".")
        if id(node) not in skipped:
            for new in (*changes(node), *stricter(node)):
                found.append(Change(function, getattr(node, "lineno", 0), node, new, around))
        for inner in ast.iter_child_nodes(node):
            walk(inner, function, node)

    walk(tree, "", tree)
    return found


def vectors() -> dict[str, Any]:
    """What a vector shows -> the certificate, for those that can be read at all."""
    found = {}
    for entry in json.loads((PROOFS / "vectors" / "index.json").read_text(encoding="utf-8")):
        with contextlib.suppress(Unusable):
            found[f"{entry['about']}: {entry['shows']}"] = load(PROOFS / "vectors" / entry["file"])
    return found


def with_candidates() -> dict[str, Any]:
    """The same, and after them the candidates that are no vectors."""
    files = vectors()
    return {**files, **{v.name: parse(v.raw) for v in make_vectors.candidates() if v.name not in files}}


def said(data: Any) -> tuple[str, str]:
    """The verdict, and the reason of it or the claim."""
    verdict = sys.modules["mace.proofs.check"].check(data)  # type: ignore[attr-defined]
    return (
        "accepted" if verdict.accepted else "unusable" if verdict.unusable else "refused"
    ), verdict.reason or verdict.claim


def loaded(codes: dict[str, CodeType]) -> None:
    """Run the checker's modules anew."""
    for name, code in codes.items():
        full = f"mace.proofs.{name}"
        sys.modules[full] = module = ModuleType(full)
        module.__file__ = code.co_filename
        if name != "kernel.floats":  # or a file that rounds one way alone would fail where it rounds the other way
            floats = sys.modules["mace.proofs.kernel.floats"]
            module.__dict__.update({rounds: getattr(floats, rounds) for rounds in ("floor", "ceiling")})
        exec(code, module.__dict__)


class Runner:
    """The vectors, what is said of them, and which of them noticed what.

    verdicts: a mutant of which only a reason is noticed is shown the other vectors too, for one that notices a verdict.
    """

    def __init__(self, kept: Path, pool: Callable[[], dict[str, Any]] = vectors, *, verdicts: bool = True) -> None:
        self.verdicts = verdicts
        self.expected = {name: said(data) for name, data in pool().items()}
        self.vectors = pool()
        self.used = Counter[str]()
        self.sources = {name: PROOFS / f"{name.replace('.', '/')}.py" for name in MODULES}
        self.codes = {name: compile(path.read_text("utf-8"), str(path), "exec") for name, path in self.sources.items()}
        self.kept_file = kept
        self.kept: dict[str, str] = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}

    def order(self, hint: str | None, tried: Counter[str]) -> list[str]:
        """Vectors, those that noticed other mutants of the function first."""
        before = (name for counts in (tried, self.used) for name, _ in counts.most_common())
        first = [name for name in (hint, *before) if name in self.vectors]
        return list(dict.fromkeys([*first, *self.vectors]))

    def noticed(self, module: str, tree: ast.Module, change: Change, order: list[str]) -> str:
        """Which vector notices a mutant, and how: "verdict cuts: no cut", "reason ..", or "survived"."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            os.write(writer, self.walk(module, tree, change, order).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as answers:
            answer = answers.read()
        os.waitpid(child, 0)
        return answer or "verdict at once"

    def walk(self, module: str, tree: ast.Module, change: Change, order: list[str]) -> str:
        """The same, in a process that may end with it."""
        replace(tree, change.old, change.new)
        other = ""

        def late(*_: object) -> None:
            raise Hangs

        signal.signal(signal.SIGVTALRM, late)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            code = compile(ast.fix_missing_locations(tree), str(self.sources[module]), "exec")
            loaded({**self.codes, module: code})
        except (Exception, Hangs):  # noqa: BLE001  # whatever it is: no checker starts so
            return "verdict at once"
        for name in order:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                verdict, reason = said(self.vectors[name])
            except (Exception, Hangs):  # noqa: BLE001  # a checker never raises
                return f"verdict {name}"
            if verdict != self.expected[name][0] or reason.startswith("an unforeseen place"):
                return f"verdict {name}"
            if reason != self.expected[name][1]:
                other = other or name
                if not self.verdicts:
                    break
        return f"reason {other}" if other else "survived"

    def file(self, name: str, picked: Callable[[list[Change]], list[Change]]) -> tuple[Counter[str], list[Change]]:
        """How the mutants of one file end, and those that survive."""
        module = f"kernel.{name}"
        tree = ast.parse(self.sources[module].read_text("utf-8"))
        ended, survivors, tried = Counter[str](), [], Counter[tuple[str, str]]()
        for change in picked(all_changes(tree)):
            here = Counter({vector: n for (function, vector), n in tried.items() if function == change.function})
            order = self.order(self.kept.get(f"{name}: {change.key}"), here)
            how, _, vector = self.noticed(module, tree, change, order).partition(" ")
            ended[how] += 1
            if how == "survived":
                survivors.append(change)
                print(f"{name}.py:{change.line}: {change.key}", flush=True)
            else:
                tried[change.function, vector] += 1
                self.used[vector] += 1
                self.kept[f"{name}: {change.key}"] = vector
            if not ended.total() % 50:
                self.kept_file.write_text(json.dumps(self.kept), encoding="utf-8")
        self.kept_file.write_text(json.dumps(self.kept), encoding="utf-8")
        return ended, survivors


def reasons() -> dict[str, dict[str, list[str]]]:
    """File -> why they can stay -> the mutants of it that no vector notices; "" where nobody has looked yet."""
    return dict(json.loads(RECORD.read_text("utf-8"))) if RECORD.is_file() else {}


def recorded() -> dict[str, list[str]]:
    """File -> the mutants of it that no vector notices."""
    return {name: [key for keys in why.values() for key in keys] for name, why in reasons().items()}


def with_reasons(found: list[str], known: dict[str, list[str]]) -> dict[str, list[str]]:
    """Survivors by the reason that was recorded of each."""
    why = {key: reason for reason, keys in known.items() for key in keys}
    made: dict[str, list[str]] = {}
    for key in found:
        made.setdefault(why.get(key, ""), []).append(key)
    return made


def code_lines(source: str) -> int:
    """How many lines hold code: no blank ones, comments, docstrings."""
    texts = [
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and ast.get_docstring(node) is not None
    ]
    aside = {line for text in texts for line in range(text.lineno, (text.end_lineno or 0) + 1)}
    lines = enumerate(source.splitlines(), 1)
    return sum(line not in aside and text.strip()[:1] not in ("", "#") for line, text in lines)


def summed(sizes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The sum of each entry."""
    return tuple(map(sum, zip(*sizes, strict=True)))


def table() -> str:
    """The survivors, as soundness.md shows them: how many there are in each file, and each by its reason."""
    by_reason: dict[str, list[str]] = {}
    rows = ["| file | lines | of code | changes | not noticed |", "|---|---|---|---|---|"]
    sizes: dict[str, tuple[int, ...]] = {}
    for name, why in reasons().items():
        source = (PROOFS / "kernel" / f"{name}.py").read_text("utf-8")
        changes, survivors = len(all_changes(ast.parse(source))), sum(map(len, why.values()))
        sizes[f"`{name}.py`"] = source.count("\n"), code_lines(source), changes, survivors
    sizes["**of trees, without prices, forms and rules**"] = summed(sizes[f"`{name}.py`"] for name in OF_TREES)
    sizes["**all**"] = summed(sizes[f"`{name}.py`"] for name in reasons())
    rows += [f"| {name} | {' | '.join(map(str, of))} |" for name, of in sizes.items()]
    for name, why in reasons().items():
        for reason, keys in why.items():
            shown = Counter(keys).items()
            told = [f"`` {key} ``{f' ({n} times)' if n > 1 else ''}" for key, n in shown]
            by_reason.setdefault(reason, []).append(f"  * `{name}.py`: {'; '.join(told)}")
    listed = [line for reason, lines in by_reason.items() for line in (f"* {reason}:", *lines)]
    return "\n".join([*rows, "", *listed])


def with_table(text: str) -> str:
    """The text of soundness.md with the survivors as they are recorded."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, "soundness.md has lost its marks"
    return f"{before}{begin}\n{table()}\n{end}{after}"


def pruned(runner: Runner, record: dict[str, list[str]]) -> int:
    """Write which candidates are needed, and the vectors anew; 1 if a mutant survived that is not recorded."""
    new = []
    for name in FILES:
        known = Counter(record.get(name, []))

        def picked(found: list[Change], known: Counter[str] = known) -> list[Change]:
            keys = Counter(change.key for change in found)
            return [change for change in found if keys[change.key] > known[change.key]]

        new += [change.key for change in runner.file(name, picked)[1] if change.key not in known]
    candidates = {vector.name: vector.shows for vector in make_vectors.candidates()}
    needed = sorted(candidates[name] for name in runner.used if name in candidates)
    make_vectors.NEEDED.write_text(json.dumps(needed, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    make_vectors.write()
    print(f"{len(needed)} of {len(candidates)} candidates are needed, {len(new)} survivors are not recorded")
    return 1 if new else 0


def main() -> int:
    """Parse, run, print; 1 if a mutant survived that is not recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.kernel")
    parser.add_argument("--file", action="append", help="such as ensembles.py; all if none is named")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th mutant")
    parser.add_argument("--first", type=int, default=0, help="where that begins")
    parser.add_argument("--recorded", action="store_true", help="only those that survived when they were recorded")
    parser.add_argument("--kept", type=Path, default=KEPT, help="which vector noticed a mutant in earlier runs")
    parser.add_argument("--write", action="store_true", help="record the survivors")
    parser.add_argument("--table", action="store_true", help="write the survivors into soundness.md, and run nothing")
    parser.add_argument("--prune", action="store_true", help="keep of the candidates only those that are needed")
    given = parser.parse_args()
    if given.table:
        SOUNDNESS.write_text(with_table(SOUNDNESS.read_text("utf-8")), encoding="utf-8")
        return 0
    record = recorded()
    if given.prune:
        return pruned(Runner(given.kept, with_candidates), record)
    runner, new, known_reasons = Runner(given.kept), 0, reasons()
    for name in [file.removesuffix(".py") for file in given.file or FILES]:
        known = Counter(record.get(name, []))

        def picked(found: list[Change], known: Counter[str] = known) -> list[Change]:
            return [c for c in found if not given.recorded or c.key in known][given.first :: given.every]

        ended, survivors = runner.file(name, picked)
        found = [change.key for change in survivors]
        new += (Counter(found) - known).total()
        if given.write:
            known_reasons[name] = with_reasons(found, known_reasons.get(name, {}))
        print(f"{name}.py: {ended.total()} mutants: {dict(ended)}", flush=True)
    if given.write:
        RECORD.write_text(json.dumps(known_reasons, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{new} survivors are not recorded")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
