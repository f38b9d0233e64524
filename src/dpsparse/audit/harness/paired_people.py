"""How many rows the audit's people have, and who is paired with whom: the specification, written anew.

Each record of the audit's tables is made a person, with a number of rows that its position tells.
"""

from collections.abc import Iterable

# The numbers of rows of people take turns: one row, with an id or without, a few, and more than a clip lets through.
SIZES = (3, 1, 5, 1, 40)


def n_rows(position: int) -> int:
    """How many rows the person has who is made of the record at a position."""
    return SIZES[position % len(SIZES)]


def partner_of_person(position: int, people: Iterable[int]) -> int:
    """Who is paired with the person at `position`, among some people; they themselves where nobody is.

    People are ranked by their numbers of rows, and those with equally many by the multiples of 2654435769, modulo
    2^32. Of an odd number the first is in no pair; then each two are a pair.
    """
    spread = {person: number * 2654435769 % 2**32 for number, person in enumerate(people)}
    ranked = sorted(spread, key=lambda person: (n_rows(person), spread[person]))[len(spread) % 2 :]
    if position not in ranked:
        return position
    return ranked[ranked.index(position) ^ 1]


def partners_of_person(position: int, people: Iterable[int]) -> list[int]:
    """The same among all of them, and among those with several rows: effects within people leave the others out."""
    people = list(people)
    several = [person for person in people if n_rows(person) > 1]
    return [partner_of_person(position, some) for some in (people, several)]
