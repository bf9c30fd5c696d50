"""The page is whole, accessible and deterministic; it shows what was not proved, and what it was given as text."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import mace
from mace.audit.record import Record
from mace.audit.result import Audit
from mace.certify.begins import begins_at
from mace.errors import FileError, MaceError, RowError
from mace.report import parts, to_html
from tests.audit import faults
from tests.report import made
from tests.report.made import HOSTILE, Parsed

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

EMPTY = Audit([], {}, {}, (), {})
PAGES = {
    "every outcome": (made.audit(), None),
    "a person": (made.audit(), 0),
    "a person with no way out": (made.audit(), 3),
    "a person who was not decided": (made.audit(), 5),
    "nothing": (EMPTY, None),
    "hostile": (made.audit(HOSTILE), 1),
    "what closes a style, a comment, an attribute": (made.audit("</style>--></svg>\"'>]]><b>"), 1),
}


@pytest.fixture(scope="module", params=PAGES, ids=list(PAGES))
def page(request: pytest.FixtureRequest) -> str:
    audit, person = PAGES[request.param]
    return to_html(audit, person)


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the plots, which take nearly all of the time: for what stands beside them."""
    monkeypatch.setattr(parts, "to_svg", lambda display, name: "")


def test_tags_are_closed_in_turn_and_ids_are_unique(page: str):
    parsed = Parsed(page)
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    references = [
        name
        for _, attributes in parsed.elements
        for key in ("aria-labelledby", "href", "clip-path")
        for name in (re.findall(r"#([^)]+)", attributes.get(key, "")) if key != "aria-labelledby" else [])
        + (attributes.get("aria-labelledby", "").split() if key == "aria-labelledby" else [])
    ]
    assert set(references) <= set(ids)
    assert len(references) > 10


def test_headings_go_down_one_step_at_a_time(page: str):
    levels = [int(tag[1]) for tag, _ in Parsed(page).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_every_table_has_a_caption_and_every_heading_of_it_a_scope(page: str):
    parsed = Parsed(page)
    assert len(parsed.all("caption")) == len(parsed.all("table")) > 0
    assert {attributes.get("scope") for attributes in parsed.all("th")} == {"col", "row"}


def test_every_picture_has_words(page: str):
    parsed = Parsed(page)
    assert len(parsed.all("svg")) == len(parsed.all("desc")) > 0
    for attributes in parsed.all("svg"):
        assert attributes["role"] == "img"
        assert len(attributes["aria-labelledby"].split()) == 2


def test_nothing_is_fetched_and_nothing_runs(page: str):
    parsed = Parsed(page)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", page)
    kinds = {tag for tag, _ in parsed.elements}
    assert kinds & {"script", "iframe", "object", "embed", "img", "image", "form", "base", "foreignobject"} == set()
    assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
    assert {a["href"] for a in parsed.all("link")} == {"data:,"}
    assert all(a["href"].startswith("#") for a in [*parsed.all("a"), *parsed.all("use")])
    policy = next(a["content"] for a in parsed.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert (parsed.all("html")[0]["lang"], parsed.all("style")) == ("en", [{}])


def test_it_says_what_a_counterfactual_is_not(page: str):
    assert "not by itself a statement of the principal reasons" in Parsed(page).words("p")


@pytest.mark.parametrize("text", [HOSTILE, "a & b <i>", "{{ 7 * 7 }}", "$x^2$", "&lt;b&gt;", "emoji 👩‍🚀", "علی‌رضا"])
def test_a_value_shows_as_it_is_in_the_page_and_in_the_plots(text: str):
    parsed = Parsed(to_html(made.audit(text), 1))
    shown = parsed.words("td", "th", "dd", "li", "p", "code", "span")
    assert shown.count(text) > 10
    assert text[:10] in parsed.words("text"), "the labels of the plots"
    assert text in parsed.words("desc")
    assert parsed.all("script") == []
    assert "49" not in parsed.words("h1")


def test_characters_that_cannot_be_seen_are_marked():
    parsed = Parsed(to_html(made.audit("a\x00b\u202ec\ud800d\ne"), 1))
    assert r"a\x00b\u202ec\ud800d\ne" in parsed.words("td")
    assert not re.search("[\x00\u202e\ud800]", parsed.words())


def test_the_same_audit_gives_the_same_bytes():
    assert to_html(made.audit(), 0) == to_html(made.audit(), 0)


def test_the_users_own_settings_do_not_change_it():
    import matplotlib as mpl

    before = to_html(made.audit())
    with mpl.rc_context({"font.size": 40, "axes.facecolor": "black", "svg.fonttype": "path", "text.usetex": True}):
        assert to_html(made.audit()) == before


@pytest.mark.usefixtures("words_only")
def test_what_was_not_decided_is_shown_with_its_reason():
    words = Parsed(to_html(made.audit())).words()
    assert "4 rows stayed open: 1 with a lower and an upper bound, 3 without a verdict" in words
    for outcome in ("timeout", "crashed", "bounded", "unknown"):
        assert outcome in words
    assert "stopped after 45 s" in words
    assert "the proofs rest on the provers alone" not in words
    none = [made.found(0, Fraction(1, 3), proof="kept")]
    alone = Parsed(to_html(made.audit(records=none, extra={}, groups={}))).words()
    assert "the proofs rest on the provers alone" in alone


@pytest.mark.usefixtures("words_only")
def test_no_bound_claims_more_than_was_proved():
    third = made.found(0, Fraction(2, 3), Fraction(1, 3) + Fraction(1, 10**7))
    words = Parsed(to_html(made.audit(records=[third], extra={}, groups={}), 0)).words("td", "dd")
    assert "0.666667" in words, "what was found is rounded up"
    assert "0.333333" in words, "the bound is rounded down"
    assert "0.333334" not in words


@pytest.mark.usefixtures("words_only")
def test_shares_are_not_rounded_to_all_or_nothing():
    records = [made.blocked(0), *(made.found(n, Fraction(1, 4)) for n in range(1, 3000))]
    words = Parsed(to_html(made.audit(records=records, extra={}, groups={}))).words("td")
    assert "<0.1%" in words
    assert ">99.9%" in words


@pytest.mark.usefixtures("words_only")
def test_an_audit_of_only_some_answers_says_what_is_not_recorded():
    words = Parsed(to_html(made.audit(about={}, extra={}))).words()
    assert "not recorded in this audit file" in words
    assert "Date: not stated" in words
    assert "Date: 2026-01-31" in Parsed(to_html(made.audit(), date="2026-01-31")).words()


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        (["2026-02-01T09:58:03+00:00"], "Date: 2026-02-01, 09:57 to 09:58 UTC"),
        (
            ["2026-02-01T23:59:00+00:00", "2026-02-02T00:01:00+00:00"],
            "Date: 2026-02-01, 23:58 to 2026-02-02, 00:01 UTC",
        ),
    ],
)
def test_the_date_is_when_the_questions_were_asked_and_answered(ends, shown):
    records = [made.found(n, Fraction(1, 4), answered=end, seconds=60.0) for n, end in enumerate(ends)]
    audit = made.audit(records=records, extra={}, groups={})
    assert shown in Parsed(to_html(audit)).words()
    assert "Date: January" in Parsed(to_html(audit, date="January")).words()


@pytest.mark.usefixtures("words_only")
def test_a_person_without_a_way_out_has_the_values_and_is_told_nothing_of_changes():
    parsed = Parsed(to_html(made.audit(), 3, space=None))
    assert "Age 60 Income 900 Sex male" in parsed.words("td", "th")
    assert "This page names no change that would have been enough" in parsed.words()
    assert "What would have to be different" not in parsed.words()


@pytest.mark.usefixtures("words_only")
def test_the_summary_names_the_groups_at_both_ends():
    records = [made.blocked(0), made.found(1, Fraction(1, 4)), made.found(2, Fraction(1, 2))]
    audit = made.audit(records=records, extra={}, groups={"Sex": ["male", "female", "male"]})
    words = Parsed(to_html(audit)).words()
    assert "1 (33.3%) provably have no way out; by Sex the share lies between 0.0% (female) and 50.0% (male)" in words
    assert (
        "By Sex, male must go 2 times as far as female at the median, but a group is too small for an interval."
        in words
    )


@pytest.mark.usefixtures("words_only")
def test_distances_are_told_as_amounts_of_what_changes_most():
    records = [made.found(1, Fraction(1, 4)), made.found(2, Fraction(1, 2))]
    about = made.ABOUT | {"features": {"Income": {"unit": "EUR", "range": 1000}}}
    groups = {"Sex": ["female", "male"]}
    audit = made.audit(records=records, extra={}, groups=groups, about=about)
    # Three features: a distance of 1/2 is 1.5 times the range of one.
    assert "(as far as 1,500 EUR of Income alone, against 750 EUR)" in Parsed(to_html(audit)).words()
    weighted = made.audit(records=records, extra={}, groups=groups, about=about | {"weighted": True})
    assert "of Income alone" not in Parsed(to_html(weighted)).words()


@pytest.mark.usefixtures("words_only")
def test_five_sentences_each_lead_to_their_evidence():
    page = to_html(made.audit())
    links = [attributes["href"] for tag, attributes in Parsed(page).elements if tag == "a" and "href" in attributes]
    assert page.count('">Evidence</a>') == 5 and {"#proved", "#no-recourse", "#distances"} <= set(links)


@pytest.mark.usefixtures("words_only")
def test_what_a_fixed_feature_cannot_do_is_said_to_be_by_construction():
    audit = made.audit(protected=("Sex",))
    words = Parsed(to_html(audit)).words()
    assert "By construction none of them changes Sex" in words and "by construction no change uses Sex" in words
    assert "by construction none rests on Sex" in " ".join(str(audit).split())


@pytest.mark.usefixtures("words_only")
def test_an_unfinished_audit_says_so_in_its_title():
    audit = made.audit(about=made.ABOUT | {"finished": False, "planned": 500})
    page = to_html(audit)
    assert re.search(r"<title>Unfinished audit of recourse: RandomForestClassifier \(\d+ of 500 rows answered\)", page)
    assert "This audit is not finished" in Parsed(page).words() and str(audit).startswith("UNFINISHED, ")
    answered = made.audit(
        records=[made.found(0, Fraction(1, 3))], extra={}, groups={}, protected=("Sex",), about=audit.about
    )
    words = Parsed(to_html(answered)).words()
    assert "Nobody of those answered is stuck: all of them have a way out." in words
    assert "whether a decision rests on Sex alone was not asked yet" in words.lower().replace("sex", "Sex")


@pytest.mark.usefixtures("words_only")
def test_a_model_validation_begins_with_the_model_and_what_was_asked():
    page = to_html(made.audit(), template="model-validation")
    assert "Model validation, recourse: RandomForestClassifier" in page
    places = [
        page.index(f'<section id="{name}"') for name in ("identity", "scope", "assumptions", "proved", "findings")
    ]
    assert places == sorted(places)
    with pytest.raises(MaceError, match="unknown template 'leter'\nDid you mean 'letter'"):
        to_html(made.audit(), template="leter")


@pytest.mark.usefixtures("words_only")
def test_a_letter_says_in_plain_words_what_would_have_been_enough():
    about = made.ABOUT | {"decisions": {"0": "refused", "1": "approved"}}
    words = Parsed(to_html(made.audit(about=about), 0, template="letter")).words()
    assert "decided: refused" in words and "it would have decided: approved" in words
    assert "Income from 1,200.5 to 1,800" in words and "no smaller change would have been enough" in words
    stuck = Parsed(to_html(made.audit(), 3, template="letter")).words()
    assert "no change of what may change would have been enough" in stuck
    about |= {"features": {"Income": {"unit": "EUR", "range": 1000}}}
    assert "to 1,800 EUR" in Parsed(to_html(made.audit(about=about), 0, template="letter")).words()
    whole = Parsed(to_html(made.audit(about=about), 0)).words()
    assert "1,200.5 EUR" in whole and "1,800 EUR" in whole  # the page has the units of the audit, too
    any_other = made.audit(about=about | {"goal": None})
    assert "another decision" in Parsed(to_html(any_other, 0, template="letter")).words()
    assert "wanted: any other decision" in str(any_other)
    with pytest.raises(MaceError, match="a letter is about a person"):
        to_html(made.audit(), template="letter")


@pytest.mark.usefixtures("words_only")
def test_a_goal_stands_as_people_call_it_and_without_the_quotes_of_python():
    plain = made.audit(about=made.ABOUT | {"goal": "'dear'", "wanted": "dear", "decisions": {}})
    assert parts.goal_of(plain.about) == "dear"
    assert "it would have decided: dear" in Parsed(to_html(plain, 0, template="letter")).words()
    assert parts.goal_of({"goal": repr("it's ok"), "wanted": "it's ok"}) == "it's ok"
    two = made.audit(about=made.ABOUT | {"goal": "anything but 'bad'", "wanted": "fair or good", "decisions": {}})
    assert parts.goal_of(two.about) == "fair or good (anything but 'bad')"
    likely = made.audit(about=made.ABOUT | {"goal": "p(1) >= 0.7", "wanted": "p(approved) >= 0.7"})
    assert parts.goal_of(likely.about) == "p(approved) >= 0.7 (p(1) >= 0.7)"
    assert "this would have been so: p(approved) >= 0.7" in Parsed(to_html(likely, 0, template="letter")).words()
    number = made.audit(records=[made.found(0, Fraction(1, 3), decision=119.25090767683987)], extra={}, groups={})
    number.about.update({"goal": "y <= 100", "wanted": "y <= 100", "decisions": {}})
    said = Parsed(to_html(number, 0, template="letter")).words()
    assert "said: 119.250907677" in said and "this would have been so: y <= 100" in said


def test_a_letter_shows_a_value_as_it_is():
    assert HOSTILE not in to_html(made.audit(HOSTILE), 1, template="letter")


@pytest.mark.usefixtures("words_only")
def test_a_letter_promises_a_check_with_python_alone_only_where_there_is_one():
    done = made.audit()
    for proof, alone in (("accepted", True), ("solvers", False)):
        first = replace(done.records[0], certificate="proof.json.gz", proof=proof)
        words = Parsed(to_html(replace(done, records=[first, *done.records[1:]]), 0, template="letter")).words()
        assert ("nothing but Python" in words) == ("python -I -S proofs/check.py proof.json.gz" in words) == alone
        assert ("mace check proof.json.gz --model MODEL" in words) == (not alone)


def test_a_letter_is_not_about_what_the_checker_cannot_use(tmp_path: Path):
    statement = {"claim": {"closer_than": "1/3"}, "features": [{"count": 10**9}]}  # more levels than it takes
    certificate = {"mace_certificate": 2, "statement": statement}
    (tmp_path / "proof.json").write_text(json.dumps(certificate))
    one = made.audit(records=[made.found(0, Fraction(1, 3), certificate="proof.json")], extra={}, groups={})
    words = Parsed(to_html(one, 0, certificates=tmp_path)).words()
    assert "Checked again for this report unusable: " in words
    with pytest.raises(FileError, match="what the checker does not accept \\(unusable: "):
        to_html(one, 0, certificates=tmp_path, template="letter")


@pytest.mark.usefixtures("words_only")
def test_a_letter_tells_of_each_verdict_no_more_than_is_known():
    def letter(record: Record) -> str:
        return to_html(made.audit(records=[record], extra={}, groups={}), 0, template="letter")

    refused = {"proof": "refused", "why": "its certificate was refused", "lower_bound": 0.0, "exact_lower_bound": "0"}
    with pytest.raises(FileError, match="what the checker does not accept"):
        letter(made.found(0, Fraction(1, 3), Fraction(0), **refused))
    for failure in ("timeout", "crashed", "memory", "error"):
        with pytest.raises(FileError, match="row 0, of which the audit knows no decision \\(stopped after 45 s"):
            letter(made.failed(0, failure))
    assert "smaller change may be enough" in letter(made.found(0, Fraction(1, 3), Fraction(0)))
    within = letter(made.found(0, Fraction(1, 3), Fraction(1, 4), status="optimal"))
    assert "no change that is smaller by more than 25% would have been enough" in within
    there = letter(made.found(0, Fraction(0), changes={}))
    assert "nothing would have to change" in there and "no smaller change" not in there


def test_a_damaged_certificate_is_named_once_with_what_to_do(tmp_path: Path):
    (tmp_path / "proof.json.gz").write_bytes(b"damaged")
    one = made.audit(records=[made.found(0, Fraction(1, 3), certificate="proof.json.gz")], extra={}, groups={})
    with pytest.raises(FileError) as error:
        to_html(one, 0, certificates=tmp_path)
    first, hint = str(error.value).splitlines()
    assert first.count("proof.json.gz") == 1 and "the certificate of row 0 cannot be read" in first
    assert "writes anew what is damaged" in hint


def test_a_folder_of_certificates_that_is_not_there_is_no_silence(tmp_path):
    with pytest.raises(FileError, match="nowhere: there is no such folder"):
        mace.report(made.audit(), tmp_path / "r.html", 0, certificates=tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_pdf_is_what_a_browser_prints_of_the_page(tmp_path, monkeypatch):
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport sys, urllib.parse, pathlib\n"
        "page = pathlib.Path(urllib.parse.unquote(sys.argv[-1].removeprefix('file://'))).read_bytes()\n"
        "target = next(word for word in sys.argv if word.startswith('--print-to-pdf=')).partition('=')[2]\n"
        "pathlib.Path(target).write_bytes(b'%PDF ' + page) if b'hostile' not in page else sys.exit('no room')\n"
    )
    browser.chmod(0o755)
    monkeypatch.setenv("MACE_BROWSER", str(browser))
    printed = mace.report(made.audit(), tmp_path / "letter.PDF", 0, template="letter").read_bytes()
    assert printed == b"%PDF " + to_html(made.audit(), 0, template="letter").encode()
    with pytest.raises(FileError, match=r"did not print the report: no room\nWrite an \.html"):
        mace.report(made.audit(), tmp_path / "other.pdf", title="hostile")
    browser.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(FileError, match=r"did not print the report: it ended with exit code 3, without a word\n"):
        mace.report(made.audit(), tmp_path / "other.pdf")
    monkeypatch.setenv("MACE_BROWSER", str(tmp_path / "none"))
    with pytest.raises(FileError, match=r"no browser to print a PDF with: MACE_BROWSER is .*none"):
        mace.report(made.audit(), tmp_path / "other.pdf")
    assert not (tmp_path / "other.pdf").exists()


@pytest.mark.usefixtures("words_only")
def test_a_person_has_before_and_after_and_other_ways():
    parsed = Parsed(to_html(made.audit(), 0, space=None))
    words = parsed.words("td", "th")
    assert "Income 1,200.5 1,800 +599.5" in words
    assert "Age 30 same" in words
    assert "Income may not change none found none infeasible" in words


def test_a_person_who_was_not_audited_is_an_error():
    with pytest.raises(RowError, match="row 99 was not audited\nThe audit has 0, 1, 2"):
        to_html(made.audit(), 99)


@pytest.mark.slow
def test_a_report_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "report.html"
    assert mace.report(made.audit(), path) == path
    before = path.read_bytes()
    assert before.endswith((b"</html>\n", b"</html>"))
    with pytest.raises(RowError):
        mace.report(made.audit(), path, 99)

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(FileError, match=r"report.html: cannot be written \(No space left"):
        mace.report(made.audit("other"), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileError, match="cannot be written"):
        mace.report(made.audit(), tmp_path / "absent" / "report.html")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory):
    """A small audit with certificates, its folder, and the model."""
    folder = tmp_path_factory.mktemp("audit")
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame))
    done = mace.audit(
        model, faults.space(), frame, ["Sex"], goal=1, limit=5, n_jobs=1, protected=["Age"],
        checkpoint=folder / "audit.sqlite", certificates=folder / "certificates", progress=False,
    )  # fmt: skip
    return done, folder, model, frame


@pytest.mark.slow
def test_the_certificate_of_a_person_is_checked_again(real):
    done, folder, _, _ = real
    who = next(record for record in done.records if record.certificate)
    text = to_html(done, who.row, space=faults.space(), certificates=folder / "certificates")
    words = Parsed(text).words()
    assert "Checked again for this report accepted:" in words
    assert f"mace check {who.certificate}" in words
    certificate = mace.certify.writer.load(folder / "certificates" / who.certificate)
    assert certificate.digest in words
    assert 'id="plot-person"' in text


def test_a_certificate_of_another_claim_is_not_called_accepted(real, tmp_path: Path):
    done, folder, _, _ = real
    one, two = [record for record in done.records if record.certificate and record.status == "optimal"][:2]
    shutil.copytree(folder / "certificates", tmp_path, dirs_exist_ok=True)
    (tmp_path / two.certificate).rename(tmp_path / one.certificate)
    words = Parsed(to_html(done, one.row, certificates=tmp_path)).words()
    assert "refused: the certificate makes another claim than the audit" in words
    with pytest.raises(FileError, match="no letter is written about what the checker does not accept"):
        to_html(done, one.row, certificates=tmp_path, template="letter")
    with pytest.raises(FileError, match=f"certificate of row {two.row} cannot be read"):
        to_html(done, two.row, certificates=tmp_path)


def test_a_certificate_of_another_row_with_the_same_claim_is_not_called_accepted(real, tmp_path: Path):
    done, folder, _, _ = real
    one, two = [record for record in done.records if record.certificate and record.status == "optimal"][:2]
    shutil.copytree(folder / "certificates", tmp_path, dirs_exist_ok=True)
    (tmp_path / two.certificate).rename(tmp_path / one.certificate)
    claimed = replace(one, exact_lower_bound=two.exact_lower_bound)
    swapped = replace(done, records=[claimed if record is one else record for record in done.records])
    words = Parsed(to_html(swapped, one.row, certificates=tmp_path)).words()
    assert "refused: the certificate is about another row than the audit" in words
    with pytest.raises(FileError, match="no letter is written about what the checker does not accept"):
        to_html(swapped, one.row, certificates=tmp_path, template="letter")


def _moved(record):
    """The numbers that change."""
    return [(name, *pair) for name, pair in record.changes.items() if all(isinstance(one, int | float) for one in pair)]


def test_a_certificate_of_another_witness_is_not_called_accepted(real, tmp_path: Path):
    # The letter told a person an edited change or distance, and that the checker had accepted it.
    done, folder, _, _ = real
    one = next(record for record in done.records if record.certificate and _moved(record))
    name, before, after = _moved(one)[0]
    edited = [
        replace(one, changes={**one.changes, name: [before, after + 1]}),
        replace(one, status="bounded", distance=0.75, exact_distance="3/4"),
    ]
    for record in edited:
        given = replace(done, records=[record if known is one else known for known in done.records])
        words = Parsed(to_html(given, one.row, certificates=folder / "certificates")).words()
        assert "refused: the certificate's witness is another one than the audit's" in words
        with pytest.raises(FileError, match="no letter is written about what the checker does not accept"):
            to_html(given, one.row, certificates=folder / "certificates", template="letter")


def test_levels_and_missing_values_tell_certificates_of_two_rows_apart():
    space = mace.Space([mace.Feature("job", kind="categorical", levels=["none", "baker", "clerk"])])
    job = {"name": "job", "kind": "levels", "start": 1}
    assert begins_at([job], {"job": "baker"}, space)
    assert not begins_at([job], {"job": "clerk"}, space)
    age = {"name": "age", "kind": "grid", "grid": "step", "step": "1/10", "extra": None, "upper": 900, "start": 301}
    assert begins_at([age], {"age": 30.1}, None)
    assert not begins_at([age], {"age": 30.2}, None)
    lacking = {**age, "missing": {"cost": "1"}, "start": 901}
    assert begins_at([lacking], {"age": None}, None)
    assert not begins_at([lacking], {"age": 90.1}, None)
    assert not begins_at([{**lacking, "start": 7}], {"age": None}, None)


def test_a_certificate_outside_its_folder_is_not_opened(tmp_path: Path):
    away = made.found(0, Fraction(1, 3), certificate="../secret.json")
    with pytest.raises(FileError, match="outside its folder"):
        to_html(made.audit(records=[away], extra={}, groups={}), 0, certificates=tmp_path)


def test_an_answer_brings_its_alternatives_and_its_certificate(real):
    done, _, model, frame = real
    row = frame.iloc[done.records[0].row]
    answer = mace.explain(model, faults.space(), row, goal=1, count=2, background=frame)
    words = Parsed(to_html(done, answer)).words()
    assert answer.certificate.digest in words
    assert "Checked for this report accepted:" in words
    assert "kEUR" in words
    assert ("Other ways" in words) == (len(answer.counterfactuals) > 1)
