from html.parser import HTMLParser

from dpsparse.html import Html, Page, figure, table, tag


class Reader(HTMLParser):
    """Checks that tags nest, and collects them."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""

    def handle_starttag(self, name, attributes):
        self.seen.append((name, dict(attributes)))
        if name not in ("meta", "img"):
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.text += data


def page():
    made = Page("A <title>", "Lead & more")
    made.section(
        "First part", "Plain <b>text</b>", table('Say "it"', ["a", "b"], [["x<y", 1], [Html("<em>z</em>"), 2]])
    )
    made.section("Second", figure(b"\x89PNG", 'a "picture"', "below"))
    return made.html()


def test_tags_nest_and_text_is_escaped():
    reader = Reader()
    reader.feed(page())
    assert not reader.open
    for words in ("A <title>", "Lead & more", "Plain <b>text</b>", "x<y", 'Say "it"'):
        assert words in reader.text
    assert ("em", {}) in reader.seen
    assert not any(name == "b" for name, _ in reader.seen)


def test_every_link_leads_to_a_section_and_nothing_is_fetched():
    reader = Reader()
    reader.feed(page())
    ids = {attributes["id"] for _, attributes in reader.seen if "id" in attributes}
    links = [attributes["href"] for name, attributes in reader.seen if name == "a"]
    assert links == ["#first-part", "#second"]
    assert {link[1:] for link in links} <= ids
    sources = [attributes["src"] for name, attributes in reader.seen if name == "img"]
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert all(name not in ("script", "link") for name, _ in reader.seen)


def test_rows_of_a_wide_table_can_become_cards_that_name_their_cells():
    reader = Reader()
    reader.feed(table("Wide", ["a", "b", "c", "d", '"e"'], [["x", 1, 2, 3, 4]]))
    assert ("table", {"class": "cards"}) in reader.seen
    assert [attributes["data-label"] for name, attributes in reader.seen if name == "td"] == ["b", "c", "d", '"e"']
    assert "data-label" not in table("Narrow", ["a", "b", "c", "d"], [["x", 1, 2, 3]])


def test_attributes_are_spelled_for_html():
    assert tag("p", "x", class_="note", aria_label='"y"') == '<p class="note" aria-label="&quot;y&quot;">x</p>'
