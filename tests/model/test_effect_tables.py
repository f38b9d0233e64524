"""Tables for papers: rows, marks and footnotes, and names that a format would read as its own."""

import io
import re
from dataclasses import replace

import docx
import pytest

from dpsparse import compare_models
from dpsparse.algorithms.pursuit.result import FEW_CARRIERS
from dpsparse.families.estimands import LOG_ODDS
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.variables import Variable


def labels(table):
    return [line.label for line in table.lines]


def cells(table, label):
    return next(line.cells for line in table.lines if line.label == label)


def test_one_model_has_effects_intervals_and_p_values(region):
    table = compare_models([region])
    assert table.headings == ("Effect", "95 % interval", "p-value")
    assert labels(table) == ["age", "region", "south", "north", "east"]
    assert cells(table, "age")[0] == "2.1*"
    assert cells(table, "south") == ("reference", "", "")
    assert cells(table, "east") == ("1†", "-", "-")
    assert [line.is_level for line in table.lines] == [False, False, True, True, True]


def test_features_selected_say_of_how_many_columns_they_are(region):
    one, two = (replace(region, effects=region.effects[start:]) for start in (1, 0))
    alone = replace(region, effects=region.effects[:1])
    facts = {line.label: line.cells for line in compare_models([one, two, alone]).facts}
    assert facts["Features selected"] == ("2 of 4, of 1 column", "3 of 4, of 2 columns", "1 of 4")


def test_models_stand_side_by_side_with_their_own_reference(region):
    other = replace(
        region,
        features=(Feature("region", category="south"), Feature("size")),
        effects=(Effect("region=south", 5.0, 5.0, 1.0), Effect("size", 1.0, 1.0, 0.1)),
        baselines={"region": "north"},
        variables=(Variable("region", ("region=south",), 0.03, False),),
        correlations=None,
    )
    table = compare_models([region, other], names=["A", "B"])
    assert table.headings == ("A", "B")
    assert cells(table, "region") == ("", "p = 0.030")
    assert cells(table, "south") == ("reference", "5\n[3.04, 6.96]")
    assert cells(table, "north") == ("-3.2\n[-7.12, 0.7199]", "reference")
    assert cells(table, "size") == ("", "1\n[0.804, 1.196]")
    assert cells(table, "east") == ("1†", "")
    rows = [row.split("|")[1:-1] for row in table.to_markdown().splitlines() if row.startswith("|")]
    below = rows.index(next(row for row in rows if row[0].strip() == "size")) + 1
    assert [cell.strip() for cell in rows[below]] == ["", "", r"\[0.804, 1.196\]"]
    assert sum("reference" in line.cells for line in table.lines) == 2
    total = region.privacy.epsilon + other.privacy.epsilon
    assert f"epsilon {total:.3g} and delta" in table.notes[-1]


def test_an_effect_on_log_odds_is_shown_as_its_ratio_beside_others(region):
    odds = replace(region, estimand=LOG_ODDS.name, classes=("no", "yes"))
    single = compare_models([odds])
    assert single.headings[0] == "Odds ratio"
    assert cells(single, "age")[0] == "8.166*"
    both = compare_models([region, odds])
    assert both.measures == ("effect", "odds ratio")
    assert single.measures == compare_models([region, region]).measures == ()
    assert any(note.startswith("(2): Odds ratios are exponentials of effects on the log odds") for note in both.notes)
    for text in (both.to_markdown(), both.to_latex(), both._repr_html_()):
        assert text.index("effect") < text.index("odds ratio") < text.index("8.166")


def test_a_number_times_a_category_says_where_the_category_counts(region):
    product = Feature("age", 50.0, 15.0, within=Feature("region", category="north"))
    features = (*region.features[:2], product)
    effects = (*region.effects[:2], Effect(product.name, 3.0, 3.0, 0.5, clear=True))
    model = replace(region, features=features, effects=effects, correlations=None)
    table = compare_models([model])
    assert labels(table) == ["age", "region", "south", "north", "age:region", "south", "north"]
    assert table.lines[-2].cells == ("reference", "", "")
    assert "effects of region hold at that centre." in " ".join(table.notes)


def with_unnamed(region):
    """A model with two unnamed values and their products; one of each has an interval."""
    texts = [Feature("sex", buckets=(k,), rank=k) for k in (1, 2)]
    features = (*texts, *(Feature("age", within=text) for text in texts), Feature("sex", buckets=(3,), other=True))
    kept = [Effect(features[k].name, 1.0, 1.0, 0.1) for k in (0, 2)]
    empty = [Effect(features[k].name, 0.0, trusted=False, doubt=FEW_CARRIERS) for k in (1, 3, 4)]
    effects = (*region.effects, *kept, *empty)
    return replace(region, features=(*region.features, *features), effects=effects, correlations=None)


def test_an_unnamed_value_without_an_interval_is_counted_and_not_shown(region):
    model = with_unnamed(region)
    table = compare_models([model])
    assert labels(table)[5:] == ["sex", "unnamed value 1", "age:sex", "unnamed value 1"]
    assert "Not shown: 3 effects of unnamed values, which have no intervals." in table.notes
    assert not any("unnamed value 2" in note or "another value" in note for note in table.notes)
    assert not any("Not shown" in note for note in compare_models([region]).notes)
    assert "sex (unnamed value 2)" not in model.summary()
    assert "Not shown: 3 effects of unnamed values, which have no intervals." in model.summary()
    assert "sex (unnamed value 2)" in model.effects_.term.tolist()
    # Predictions use the effect: a summary shows it.
    used = replace(model, effects=tuple(replace(e, coef=0.5) for e in model.effects))
    assert "sex (unnamed value 2)" in used.summary()
    # A row that another model fills is shown.
    other = replace(
        model, effects=tuple(replace(e, estimate=1.0, standard_error=1.0, trusted=True) for e in model.effects)
    )
    assert len(labels(compare_models([model, other]))) == len(labels(table)) + 3
    # So is one of a method that gives no errors.
    bare = replace(model, effects=tuple(Effect(each.feature, 1.0) for each in model.effects))
    assert "unnamed value 2" in labels(compare_models([bare]))


def test_a_variable_of_which_nothing_is_shown_has_no_heading(region):
    model = with_unnamed(region)
    effects = tuple(each for each in model.effects if "unnamed value 1" not in each.feature)
    model = replace(model, effects=effects, baselines={**model.baselines, "sex": "f"})
    assert labels(compare_models([model])) == labels(compare_models([region]))


def test_a_seeded_fit_says_so(fitted):
    seeded = replace(fitted.released_, privacy=replace(fitted.released_.privacy, private=False))
    table = compare_models([seeded, fitted.released_])
    assert ("NOT PRIVATE", f"{fitted.released_.privacy.epsilon:.3g}") in [line.cells for line in table.facts]
    assert any("NOT PRIVATE" in note for note in table.notes)
    assert not any("together" in note for note in table.notes)


def test_names_are_checked(region):
    with pytest.raises(ValueError, match="names has 1 entries for 2 models"):
        compare_models([region, region], names=["one"])
    with pytest.raises(ValueError, match="empty"):
        compare_models([])
    with pytest.raises(TypeError, match="load_model"):
        compare_models(["model.json"])


def odd_names(fitted):
    """A model whose names are LaTeX and Markdown."""
    name, level = r"a_b|50% & #{x}^2 ~ \input{secret} $[", "*low* <b>\n`y`"
    features = (Feature(name, category=level), Feature("z"))
    effects = (Effect(features[0].name, 1.0, 1.0, 0.1), Effect("z", -2.0, -2.0, 0.1))
    return replace(
        fitted.released_, features=features, effects=effects, baselines={name: "[first]"}, correlations=((), (0.0,))
    )


def test_latex_escapes_what_it_would_read(fitted):
    text = compare_models([odd_names(fitted)]).to_latex()
    assert r"a\_b\textbar{}50\% \& \#\{x\}\textasciicircum{}2" in text
    assert r"\textbackslash{}input\{secret\} \${[}" in text
    assert r"\input" not in text
    assert r"\quad {[}first]" in text
    assert r"$-$2 & {[}$-$2.196" in text
    assert text.count(r"\\") == len(odd_names(fitted).effects) + 2 + 1 + 5
    assert text.count("{") == text.count("}")
    starred = replace(fitted.released_, features=(Feature("*a"),), effects=(Effect("*a", 1.0, 1.0, 0.1),))
    assert "\n{}*a & 1 &" in starred.to_latex()


def test_powers_of_ten_are_written_as_papers_do(fitted, tmp_path):
    privacy = fitted.released_.privacy
    privacy = replace(privacy, guarantee=replace(privacy.guarantee, delta=1.9e-05))
    small = replace(fitted.released_, target="gene1e-05", privacy=privacy)
    text = small.to_latex()
    assert r"Delta & 1.9\,\ensuremath{\times}\,\ensuremath{10^{-5}}" in text
    assert r"\textless{}\ensuremath{10^{-16}}" in text
    assert "gene1e-05" in text
    small.to_word(tmp_path / "table.docx")
    cells = [cell.text for row in docx.Document(tmp_path / "table.docx").tables[0].rows for cell in row.cells]
    assert "1.9\u00a0\u00d7\u00a010⁻⁵" in cells
    assert "<10⁻¹⁶" in cells


def test_markdown_escapes_what_it_would_read(fitted):
    lines = compare_models([odd_names(fitted)]).to_markdown().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in rows} == {5}
    assert any(r"&emsp;\*low\* \<b\> \`y\`" in row for row in rows)
    assert len({len(row) for row in rows}) == 1


def test_a_long_name_is_folded_in_latex(fitted):
    long = replace(fitted.released_, features=(Feature("x" * 60),), effects=(Effect("x" * 60, 1.0, 1.0, 0.1),))
    assert r"\begin{tabular}{p{0.3\linewidth}rrr}" in long.to_latex()
    assert r"\begin{tabular}{lrrr}" in fitted.to_latex()
    # An interval stands beside the first line of the name, below its effect.
    both = compare_models([long, long]).to_latex()
    assert both.count(r"1 \\ {[}0.804, 1.196]\end{tabular}") == 2


def test_a_wide_table_is_as_wide_as_a_line(tmp_path, region):
    wide, narrow = compare_models([region] * 6), compare_models([region] * 2)
    assert r"\usepackage{booktabs,graphicx}" in wide.to_latex()
    assert r"\resizebox{\linewidth}{!}{%" in wide.to_latex()
    assert "resizebox" not in narrow.to_latex()
    for table, on_its_side in ((wide, True), (narrow, False)):
        table.to_word(tmp_path / "table.docx")
        page = docx.Document(tmp_path / "table.docx").sections[0]
        assert (page.page_width > page.page_height) is on_its_side


def test_word_has_the_rows_and_the_notes(tmp_path, region):
    table = compare_models([region])
    stream = io.BytesIO()
    table.write_word(stream)
    region.to_word(tmp_path / "table.docx")
    for place in (stream, tmp_path / "table.docx"):
        document = docx.Document(place)
        (grid,) = document.tables
        read = [tuple(cell.text for cell in row.cells) for row in grid.rows]
        assert read[0] == ("", *table.headings)
        rows = [(line.label, *line.cells) for line in (*table.lines, *table.facts)]
        assert [[_ascii(text) for text in row] for row in read[1:]] == [[*row] for row in rows]
        assert [each.text for each in document.paragraphs][1:] == list(table.notes)


def _ascii(text):
    """The text of a cell with the signs of a keyboard."""
    text = text.replace("\u2212", "-").replace("\u00a0", " ")
    return re.sub("( \u00d7 )?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", _power, text)


def _power(found):
    exponent = int(found[2].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
    return f"{'' if found[1] else '1'}e{exponent:+03d}"


def test_notebooks_show_it(region):
    assert "<caption>Effects for y" in compare_models([region])._repr_html_()
    assert str(compare_models([region])) == region.to_markdown()
