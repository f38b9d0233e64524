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


def partner_with_one_row(position: int, people: Iterable[int]) -> int:
    """Who shares a term with the person at `position` where rows of each person are compared: one row has none beside.

    People with one row are ranked by the same multiples. Of an odd number the first is alone; then each two are a pair.
    """
    spread = {person: number * 2654435769 % 2**32 for number, person in enumerate(people) if n_rows(person) == 1}
    ranked = sorted(spread, key=lambda person: spread[person])[len(spread) % 2 :]
    return ranked[ranked.index(position) ^ 1] if position in ranked else position


def partners_of_person(position: int, people: Iterable[int]) -> list[int]:
    """All with whom a person shares a term of a sum over pairs.

    Among all people; among those with several rows, as effects within people leave the others out; among the others.
    """
    people = list(people)
    several = [person for person in people if n_rows(person) > 1]
    pairs = [partner_of_person(position, some) for some in (people, several)]
    return [*pairs, partner_with_one_row(position, people)]
