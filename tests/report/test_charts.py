import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.report.charts import Row, calibration, curves, forest

FLOATS = st.floats(allow_nan=False)
ROWS = [
    Row("a", 2.0, (1.0, 3.0), True, "significant"),
    Row("<b>" + "x" * 50, -0.5, (-1.0, 0.0), False, "not significant"),
    Row("c", 4.0, None, False, ""),
]


class Marks(HTMLParser):
    """The elements of a picture with their attributes, and its words."""

    def __init__(self, picture):
        super().__init__()
        self.marks, self.words = [], []
        self.feed(picture)

    def handle_starttag(self, name, attributes):
        self.marks.append((name, dict(attributes)))

    def handle_data(self, data):
        self.words.append(data)

    def of(self, name, kind):
        return [marks for element, marks in self.marks if element == name and marks.get("class") == kind]


def percent(text):
    return float(text.removesuffix("%"))


def test_places_follow_the_numbers():
    chart = Marks(forest(ROWS, 1.0, "about it"))
    (solid,), (dashed,) = chart.of("line", "significant")[::3][:1], chart.of("line", "vague")
    first, second = chart.of("line", "floor")
    # The axis runs from the least number, -1, at 3 % to the largest, 4, at 97 %.
    for mark, low, high in ((solid, 1, 3), (dashed, -1, 0)):
        assert percent(mark["x1"]) == pytest.approx(3 + 94 * (low + 1) / 5, abs=0.01)
        assert percent(mark["x2"]) == pytest.approx(3 + 94 * (high + 1) / 5, abs=0.01)
    assert percent(second["x1"]) - percent(first["x1"]) == pytest.approx(94 * 2 / 5, abs=0.01)
    circles = [percent(marks["cx"]) for name, marks in chart.marks if name == "circle"]
    assert circles == pytest.approx([3 + 94 * 3 / 5, 3 + 94 * 0.5 / 5, 97], abs=0.01)
    assert chart.words[:2] == ["noise floor, ±1", "a"]
    assert {"-1", "0", "1", "2", "3", "4"} <= set(chart.words)
    assert not any(name == "b" for name, _ in chart.marks)


def test_significance_differs_by_more_than_color():
    chart = Marks(forest(ROWS, None, "about it"))
    kinds = [marks["class"] for name, marks in chart.marks if name == "circle"]
    assert kinds == ["significant", "vague", "vague"]
    assert "significant" in chart.words
    assert "not significant" in chart.words
    assert not chart.of("line", "floor")


def test_curves_rise_and_fall_with_their_numbers():
    chart = Marks(curves([0.1, 1.0, 10.0], {"one": [4.0, 2.0, 1.0], "other": [1.0, 2.0, 4.0]}, (1.0, "here"), "both"))
    points = [
        [tuple(map(float, pair.split(","))) for pair in marks["points"].split()]
        for name, marks in chart.marks
        if name == "polyline"
    ]
    falling, rising = points
    assert [x for x, _ in falling] == pytest.approx([13, 55, 97])
    assert [y for _, y in falling] == sorted(y for _, y in falling)
    assert rising == [(x, y) for (x, _), (_, y) in zip(falling, falling[::-1], strict=True)]
    (mark,) = chart.of("line", "mark")
    assert percent(mark["x1"]) == pytest.approx(55)
    assert {"0.1", "1", "10", "2", "here"} <= set(chart.words)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(FLOATS, FLOATS, FLOATS), min_size=1, max_size=3), st.none() | FLOATS.map(abs))
def test_any_numbers_give_a_picture_within_its_frame_or_none(numbers, floor):
    rows = [Row("x", value, (low, high), False, "") for value, low, high in numbers]
    picture = forest(rows, floor, "any")
    places = [] if picture is None else re.findall(r'(?:x1|x2|cx|x)="(-?[\d.]+)%"', picture)
    assert picture is None or places
    assert all(-1e-6 <= float(place) <= 100 + 1e-6 for place in places)
    assert not re.search("nan|inf", picture or "")


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=2, max_size=4))
def test_any_curve_is_drawn_or_not(numbers):
    x, heights = zip(*sorted(numbers), strict=True)
    picture = curves(x, {"one": heights}, (x[0], "here"), "any")
    assert not re.search("nan|inf", picture or "")
    assert (picture is None) == (not all(1e-280 < value < 1e280 for value in (*x, *heights)))


def test_calibration_is_drawn_where_it_is():
    marks = Marks(calibration([(0.0, 1.0, 0.5, 1.0), (1.0, 0.0, 0.0, 0.25)], "words"))
    dots = [(percent(dot["cx"]), float(dot["cy"])) for dot in marks.of("circle", "significant")]
    (left, top), (right, bottom) = dots
    assert left < right
    assert top < bottom
    low, high = (sorted((float(line["y1"]), float(line["y2"]))) for line in marks.of("line", "significant"))
    assert low == [top, (top + bottom) / 2]
    assert high[1] == bottom
