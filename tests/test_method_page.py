"""docs/method.md says what the code has: its tables are made from it, and its numbers, files and names are there."""

import ast
import math
import re
import runpy
from pathlib import Path

import pytest

import dpsparse
from dpsparse.algorithms.pursuit import budget
from dpsparse.algorithms.pursuit import counts_budget as counts
from dpsparse.algorithms.pursuit import grid_constants as g
from dpsparse.algorithms.pursuit import newton_budget as newton
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit import reference_budget as reference
from dpsparse.engine import links
from dpsparse.families import binomial, poisson
from dpsparse.families import robust_linear as family
from dpsparse.families.estimands import HUBER_TUNING
from dpsparse.inference import inference_constants as inference

ROOT = Path(__file__).parents[1]
SOURCE = Path(dpsparse.__file__).parent
PAGES = {name: (ROOT / "docs" / name).read_text() for name in ("method.md", "privacy.md")}
METHOD = PAGES["method.md"]
# The same without line breaks.
SENTENCES = " ".join(METHOD.split())
# Each number that a sentence of the page states, as the code has it.
STATED = [
    ("at most {:,} features, and", c.WIDE),
    ("d / N^2$ below {:g} %, their share", 100 * c.SPLITS_SHARE),
    (r"$\tau = {:g}\,m$", family.TAU_UNKNOWN),
    (r"(${:g}\,m$ with public units)", family.TAU_GIVEN),
    ("may be small ({:g} to", c.LEAST_CLIP),
    ("to {:g}, from public numbers)", c.MOST_CLIP),
    (r"cheap to check ($N \ge {:g}$ of the pursuit,", c.CHECK_UNITS_FROM),
    ("and {:g} where residuals are bounded;", c.CHECK_UNITS_OF_ODDS_FROM),
    ("With more than {} features $N$ must be", c.CHECKED_AT_ONCE),
    ("of other features {:g} scales", 1 / c.RARE),
    ("sizes are cut at {:g} times the typical one", c.MOST_SIZES),
    ("Where the released mean is more than {:g} times it, by two standard deviations", c.SIZE_ASTRAY),
    ("a factor from {:g}", g.TAIL_FACTORS[0]),
    ("to {:g} by which the upper tail", g.TAIL_FACTORS[-1]),
    ("Values are cut {:g} scales from the centre", c.MOST_UNITS),
    ("where it is more than {:g}, the centre was chosen by noise", c.CENTER_ASTRAY),
    ("differs in less than {:g} % of the pairs", 100 * c.CONSTANT),
    (r"2m + {:g}\,|g|$", c.SLOPE_WINDOW),
    ("with odds of {:g} to 1", g.ZERO_ODDS),
    ("Where it is {:g} times the smallest so far", c.WORSE),
    ("one of them is beyond {:g} standard errors", inference.SURE),
    ("(errors together may be twice as large as they are said to be)", inference.DOUBTFUL),
    (r"one in $N / {}$, at most", c.A_RESPONSE_OUTSIDE),
    ("at most {:g} scales from the others; of other", 1 / c.RARE_BINARY),
    ("{:g} nats at most", c.BINARY_NATS),
    ("is {:g} times as large as that of normal ones", c.HEAVIER),
    (r"plus or minus ${:g}\,w$", c.REACH),
    ("Below {} all effects become 0", f"{c.NO_WEIGHT:g}".lstrip("0")),
    ("unless the slope is below {} by", f"{c.NO_WEIGHT:g}".lstrip("0")),
    ("by {:g} standard deviations; in unknown units", c.DOUBT),
    ("in unknown units below $N = {:g}$", c.TINY),
    ("unless it is below 1 by {:g} of them", c.TINY_DOUBT),
    (r"(within ${:g}\,m_0$)", c.LUMP_WIDTH),
    ("predictions at {:g} of their standard deviations", c.PREDICTIONS_REACH),
    (r"noise beyond ${:g}\,m_0$", c.OFFSET_SPREAD),
    ("($k = {:g}$ with a selection", c.SELECTED_DOUBT),
    ("{:g} with all features taken)", c.TAKEN_DOUBT),
    ("Below $N = {:g}$ the height alone", c.CALIBRATE_FROM),
    ("residuals are clipped at {} of their scale", {0.5: "half"}[c.MEDIAN_WIDTH]),
    ("and slopes within {:.0f} % of 1", 100 * c.MEDIAN_SLOPE_SPREAD),
    ("a {} of its budget", {0.25: "quarter"}[budget.MEDIAN_LINE.cases[0].formula.part]),
    ("a grid of {:g} residual scales to either side", g.MEDIAN_STEPS / g.MEDIAN_STEP),
    ("It has at most {} of the budget", f"{budget.RESIDUAL_MEDIAN.cases[-1].formula.most:g}".lstrip("0")),
    ("{} **steps**: a gradient", c.N_STEPS),
    (r"with $\eta = {:g}$", c.RATE),
    ("(up to {} features, and where $N$ allows)", c.MOST_STARTS),
    ("the effects of the last {} steps are **averaged**", c.N_AVERAGED),
    ("up to {} features in known units", c.MOST_TAKEN),
    (r"$N \ge {}\,d$ in unknown ones", c.RECORDS_A_FEATURE),
    ("Otherwise it selects {}, or fewer", c.MOST_SELECTED),
    ("at least {}, and in a raw table", c.FEW_SELECTED),
    ("one for every {} columns", c.COLUMNS_A_VARIABLE),
    ("In unknown units and below $N = {}$ a table is tiny", c.TINY),
    (r"$\lfloor (N / {})^2 \rfloor$ of the features", c.LEAST_SIZE),
    ("unless they are at most {} times as many", c.TAKEN_FOR_ONE),
    ("Below $N = {}$ no feature is looked at", c.LEAST_SIZE),
    ("{:g} of the budget for the mean", budget.CALIBRATION.cases[0].formula.share),
    ("the final gradients have at least {:g} together", budget.FINAL_LEAST_OF_TINY),
    ("the picks rise {}-fold", budget.PICK_RISE_OF_TINY),
    (r"$\tau$ between {:g} and", family.LEAST_FINAL_TAU),
    ("and {:g} residual scales", family.MOST_FINAL_TAU),
    ("set to zero below {:g} standard deviations", inference.KEEP_ABOVE),
    ("eigenvalues of correlations of at least {:g}", inference.LEAST_EIGENVALUE),
    ("the model error is {:g} %", 100 * inference.MODEL_ERROR),
    (r"A weak prior of scale ${:g} m_0", c.PRIOR_SCALE),
    (r"by more than ${:g}\tau$;", inference.LARGEST_MOVE),
    ("fewer than {} records carry it", inference.LEAST_CARRIERS),
    (r"by more than $\tau/{:g}$ and", 1 / inference.SETTLED_TAU),
    ("significant at the {:g} % family-wise level", 100 * inference.FAMILY_WISE_LEVEL),
    ("the other effects take over {:g} % of that error", 100 * inference.ELSEWHERE),
    ("({:g} and more, that is", c.CAUTION_FROM),
    ("multiplied by up to {:g} (`caution`", c.MOST_CAUTION),
    ("noise of a fraction is at most {:g}", c.LARGEST_FRACTION_NOISE),
    ("a tail that begins beyond {:g} scales", c.LARGEST_TAIL),
    (r"of norm at most ${:g} \sqrt{{k}}$", c.GRAM_ROW_NORM),
    ("M-estimator ($c = {:g}$, MAD scale", HUBER_TUNING),
    ("in {} bins of a geometric sequence", c.MOST_BINS),
    (r"the bias in any direction is at most {:g} times $\mathbb{{E}}(u - T)_+ / \sqrt k$", inference.LEFT_OUT),
    ("is at least so wide that its privacy noise is {:g} of a sampling error", inference.INSURED_NOISE),
    ("There it takes {} standard deviations of a window", {5: "five"}[inference.FAR_DEVIATIONS]),
    ("in windows of 1 to {} bins", inference.FAR_WINDOWS[-1]),
    ("with the law off by {} of itself", {0.25: "a quarter"}[inference.LAW_DOUBT]),
    ("Eigenvalues of $G$ are at least {} standard deviations", {2: "two"}[inference.ROW_MOMENT_DEVIATIONS]),
    ("A {:g} % interval is as wide as", 100 * inference.INTERVAL_LEVEL),
    (r"the step needs $N \ge {:g}\,k^{{1.5}}$", c.REFERENCE_FROM),
    ("the constant included, and no less than {}, the step", c.REFERENCE_COLUMNS),
    ("by itself, {:g} times as much. Below, the pursuit has the whole", c.TYPICAL_SELECTION_LATER),
    ("The pursuit has {:g} of the budget where features are selected", reference.PURSUIT_SELECTS),
    ("and {:g} where all are taken; for typical effects", reference.PURSUIT_TAKES_ALL),
    ("which it estimates too, {:g} and", reference.TYPICAL_PURSUIT_SELECTS),
    ("and {:g}. Below", reference.TYPICAL_PURSUIT_TAKES_ALL),
    ("Below $N = {:g}$ a selection is hard", reference.EASY_FROM),
    (r"$\eta$ is clipped at {:g}, rounded", links.LARGEST_PREDICTOR),
    (r"$\min(1, {:g} / \max(p, 1 - p))$", binomial.EARLY_BOUND),
    ("the last steps have a bound of {:g} in place of", c.LEAST_LAST_BOUND),
    (r"and none from $N = {}{{,}}000$ on", c.FULL_RESIDUALS_FROM // 1000),
    ("splits of all features may have {:g} of the pursuit's budget", c.BOUNDED_SPLITS_CHEAP),
    ("their grid has steps of {:.0f} %", 100 * (g.FINE_SPLIT_STEP - 1)),
    (r"weighted down to norm ${:g} \sqrt k$", c.NEWTON_NORM),
    ("a prior of {:g} log odds for one scale", c.EFFECT_SPREAD),
    ("from step to step by {:g} log odds", c.DRIFT),
    ("and the constant by {:g},", c.CONSTANT_DRIFT),
    ("Then {} mean scores are released", c.SCORES_OF_ALL),
    (r"weighted down to norm ${:g} \sqrt k$, is released", c.MANY_NORM),
    ("together have a prior of {:g} log odds.", c.EFFECTS_SPREAD),
    ("is 0 with a probability of {:g}", inference.NO_SPREAD),
    ("or one of nine between {:g} and 4", inference.SPREADS[0]),
    ("between 0.15 and {:g} log odds", inference.SPREADS[-1]),
    ("above a probability of {:g} they are one", c.NOTHING),
    ("lie within {:g} of their standard deviations", c.ODDS_REACH),
    ("weighted down, {:g} log odds for one standard deviation", inference.MISFIT_OF_SQUARES),
    ("otherwise selects {}. The pursuit's", c.MOST_LOG_ODDS),
    (r"where $N \ge {}\,d$, and otherwise", c.RECORDS_A_LOG_ODDS),
    (r"Above $N = {}{{,}}000$ a selection", newton.EASY_FROM // 1000),
    ('to no less than {:g}. "auto"', newton.SELECTS_LEAST),
    (r"the square of ${:g}\,\ell$", inference.MISFIT),
    ("may differ by {:g} log odds from the others'", inference.MISFIT),
    ("The pursuit has {:g} of the budget where features are selected, 0.3", counts.SELECTS),
    ("selected, {:g} where all are taken, and", counts.TAKES_ALL),
    ("and {:g} where these are too many for intervals. Its releases about counts", counts.TAKES_MANY),
    (r"$\eta$ is clipped at {:g}. An exponential", links.LARGEST_LOG),
    ("in a public table of {:g} bits", links.EXPONENTIAL_BITS),
    ("within {:g} standard deviations of its noise, the result", c.UNSURE),
    ("however skewed responses are, by which early residuals are clipped: at {:g} times", poisson.EARLY_BOUND),
    ("tail index is centred at {:g}, and", poisson.COUNT_TAILS.index),
    ("They reach up to {:g} times the mean response", c.REACH * c.LEAST_CEILING),
    ("The pursuit has {:g} of the budget where features are selected and 0.35", newton.SELECTS),
    ("and {:g} where all are taken, or", newton.TAKES_ALL),
    ("or {:g} where these are too many for intervals", newton.TAKES_MANY),
    ("which count up to {:g}. It moves the constant", c.LINE_REACH),
    ("both may be off by {:g}, and by more", c.LINE_SPREAD),
    (r"$N \ge {:g}\,k^{{1.5}}$ here too", c.REFERENCE_FROM),
]


def test_the_tables_are_those_of_the_code():
    with_tables = runpy.run_path(str(ROOT / "docs" / "method_tables.py"))["with_tables"]
    assert with_tables(METHOD) == METHOD, "run python docs/method_tables.py"


@pytest.mark.parametrize(("sentence", "number"), STATED)
def test_a_sentence_states_the_number_of_the_code(sentence, number):
    assert sentence.format(number) in SENTENCES


def test_a_number_that_changes_in_the_code_is_noticed():
    sentence, number = "fewer than {} records carry it", inference.LEAST_CARRIERS + 50
    assert sentence.format(number) not in SENTENCES


def test_words_for_numbers():
    """Where a sentence has a word for a number of the code."""
    assert "**three final gradients**" in SENTENCES
    assert c.FINAL_GRADIENTS == 3
    assert "beyond which a tenth of $|y - c|$ lie (in large tables" in SENTENCES
    assert "at most one in fifty" in SENTENCES
    assert (c.OUTSIDE, c.FAR_OUTSIDE) == (10, 50)
    assert "a fiftieth or twice the response's" in SENTENCES
    assert family.SCALE_RANGE == (1 / 50, 2)
    assert "rising eightfold from the first to the last" in SENTENCES
    assert budget.PICK_RISE == 8
    assert r"\tfrac14 b^\top V^{-1} b" in SENTENCES
    assert math.isclose(inference.DOUBTFUL**2, 4)
    assert "eigenvalue below a quarter" in SENTENCES
    assert inference.COLLINEAR == 1 / 4
    assert "each clipped at twice the typical squared norm" in SENTENCES
    assert c.ROUGH_ROWS == 2
    assert "the square of half of what the clip leaves out" in SENTENCES
    assert inference.SCORE_BIAS == c.ROW_BIAS == 1 / 2
    assert c.REFERENCE_POWER == 1.5
    assert "released after the tenth and the thirtieth" in SENTENCES
    assert c.RESCALED == (11, 31)


def named_in(page):
    """What a page has between backquotes."""
    return set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.S)))


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_the_page_names_is_there(page):
    files = {
        str(path.relative_to(ROOT))
        for folder in ("src", "tests", "benchmarks", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md", ".json")
    }
    folders = {str(Path(file).parent) + "/" for file in files}
    named = {each for each in named_in(PAGES[page]) if re.fullmatch(r"[\w/.]+\.(?:py|json)|[\w/]+/", each)}
    missing = {each for each in named if not any(f"/{there}".endswith(f"/{each}") for there in files | folders)}
    assert missing == set()


@pytest.fixture(scope="module")
def names_of_the_code():
    """Every name, attribute, argument and text of the package."""
    names = set()
    for file in [*SOURCE.rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            for field in ("name", "id", "attr", "arg", "value"):
                text = getattr(node, field, None)
                if isinstance(text, str):
                    names.add(text)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_name_that_the_page_gives_is_in_the_code(page, names_of_the_code):
    named = {each for each in named_in(PAGES[page]) if re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", each)}
    unknown = {
        each
        for each in named
        if not each.endswith((".py", ".json", ".md")) and not set(each.split(".")) <= names_of_the_code
    }
    assert unknown - NOT_OURS == set()


# Names of other libraries and of the system.
NOT_OURS = {"pandas.read_csv", "StandardScaler"}
