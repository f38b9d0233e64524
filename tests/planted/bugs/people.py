"""Bugs to plant where people have several rows."""

from planting import Bug

CHECK = "replay of people"
IN_PARTITIONS = "people in partitions"

PEOPLE = (
    Bug(
        "a person's vectors clipped one by one and not their sum",
        CHECK,
        {
            "engine.vector_sums:integer_vectors": [
                ("xp.where(_squares(vectors) <= levels**2, vectors, 0.0)", "vectors"),
            ],
            "engine.queries:_clipped": [("vector_sums.clip_factor(vector_sums.norms(vectors), bound)", "_")],
        },
    ),
    Bug(
        "a person counted by every row",
        CHECK,
        {"engine.queries:Records.one_each": [("values if self.people is None else", "values if True else")]},
    ),
    Bug(
        "splits by all rows",
        CHECK,
        {"engine.cpu.people_rows:PeopleRows.evaluate": [("self._standing.evaluate", "self._rows.evaluate")]},
    ),
    Bug(
        "pairs of rows and not of people",
        CHECK,
        {
            "engine.cpu.people_rows:PeopleRows.differences": [
                ("self._paired(self.people.pairs())", "self._rows.differences()"),
            ]
        },
    ),
    Bug(
        "a person in two pairs",
        CHECK,
        {"engine.people:People.pairs": [("ranked[::2], ranked[1::2]", "ranked[:-1], ranked[1:]")]},
    ),
    Bug(
        "a term for each pair of a person's own rows",
        CHECK,
        {
            "engine.cpu.people_rows:PeopleRows.own_differences": [
                (
                    "self._paired(self.people.own_pairs())",
                    "(lambda pairs: self._paired(pairs._replace(people=People.of(pairs.people.order))))"
                    "(self.people.own_pairs())",
                ),
            ]
        },
    ),
    Bug(
        "a person with one row in two pairs of these",
        CHECK,
        {
            "engine.people:People.own_pairs": [
                ("alone[::2]), (ahead, alone[1::2])", "alone[:-1]), (ahead, alone[1:])"),
                ("len(alone) // 2", "max(0, len(alone) - 1)"),
            ]
        },
    ),
    Bug(
        "differences on a disk of rows as they lie there",
        CHECK,
        {
            "engine.disk.disk_people:DiskPairLevels._read": [
                ("differences = paired(cells, few)", "differences = cells[block] - 0 * paired(cells, few)"),
            ]
        },
    ),
    Bug(
        "a person's second moments checked row by row",
        CHECK,
        {
            "engine.vector_sums:gram_sums": [("if people is not None:", "if False:")],
            "engine.scores:second_moment_sums": [
                (
                    "people.each(scale)",
                    "vector_sums.clip_factor(vector_sums.norms(vectors), bound)",
                )
            ],
        },
    ),
    Bug(
        "a person's sum for a feature not clipped",
        CHECK,
        {
            "engine.cpu.people_rows:PeopleLevels.weighted_sums": [
                ("float(FEATURE_LEVELS * WEIGHT_LEVELS)", "np.inf"),
            ]
        },
    ),
    Bug(
        "a person's sum for a feature over fewer rows than there are",
        CHECK,
        {
            "engine.cpu.people_rows:PeopleLevels.weighted_sums": [
                ("1 / np.sqrt(held.sizes), most", "1 / np.sqrt(held.sizes), most * 3"),
            ]
        },
    ),
    Bug(
        "scores clipped row by row",
        CHECK,
        {
            "engine.scores:clipped_sums": [
                ("_person_scores(_vectors(records, terms)[0], records, terms)", "_vectors(records, terms)[0]")
            ]
        },
    ),
    Bug(
        "scores of features about their exact means",
        CHECK,
        {
            "algorithms.pursuit.steps.reference:ReferenceStep._first_step": [
                (
                    'terms = at.terms("score", whitening.of_scores)',
                    "means = np.asarray(at.data.records._records.sanitized(at.positions)).mean(axis=1)\n"
                    "    about = whitening.of_scores.copy()\n"
                    "    about[:, 0] -= about @ (means - np.eye(at.k)[0])\n"
                    '    terms = at.terms("score", about)',
                )
            ]
        },
    ),
    Bug(
        "norms of rows and not of people",
        CHECK,
        {
            "engine.scores:norm_counts": [
                ('if people is None or terms.factor == "row":', "if True:"),
                ("return records.counts_at_most(", "return vector_sums.counts_at_most("),
            ]
        },
    ),
    Bug(
        "blocks that end within a person",
        CHECK,
        {
            "engine.people:Held.blocks": [
                (
                    "np.unique(np.concatenate([[0], self.starts[places], self.starts[-1:]]))",
                    "np.unique(np.concatenate([[0], np.arange(7, self.starts[-1], 7), self.starts[-1:]]))",
                )
            ],
            "engine.people:Held.take": [
                (
                    "np.searchsorted(self.starts, [rows.start, rows.stop])",
                    "np.searchsorted(self.starts, [rows.start, rows.stop], 'right') - [1, 0]",
                ),
                (
                    "self.starts[first : last + 1] - rows.start",
                    "np.clip(self.starts[first:last + 1] - rows.start, 0, rows.stop - rows.start)",
                ),
                (
                    "self.chosen[first:last] - rows.start",
                    "np.clip(self.chosen[first:last] - rows.start, 0, rows.stop - rows.start - 1)",
                ),
            ],
        },
    ),
    Bug(
        "ids that hash alike taken for one person",
        CHECK,
        {"data.person_ids:_numbered": [("first.setdefault(value, place)", "first.setdefault(hash(value) % 7, place)")]},
    ),
    Bug(
        "the same id in two places taken for two people",
        CHECK,
        {"engine.people:People.of": [("np.unique(person,", "np.unique(np.cumsum(np.diff(person, prepend=-1) != 0),")]},
    ),
    Bug(
        "a person in two folds: one row held out, and the others in the fit",
        CHECK,
        {
            "data.people_split:Split.of": [
                (
                    "np.flatnonzero(~out[people.number])",
                    "np.setdiff1d(np.arange(n_rows), people.order[people.chosen][out])",
                )
            ]
        },
    ),
    Bug(
        "levels that were read from a disk left in the order of the file",
        CHECK,
        {
            "engine.disk.disk_people:DiskPeopleLevels._read": [
                ("levels[self._place_of[blocks[k][0]]] = each.levels", "levels[blocks[k][0]] = each.levels"),
            ]
        },
    ),
    Bug(
        "rows less the mean of everybody's rows",
        CHECK,
        {
            "data.within_person:_less_mean": [
                ("sizes = np.diff(starts)", "starts = starts[[0, -1]]; sizes = np.diff(starts)")
            ]
        },
    ),
    Bug(
        "people with one row left out by their response",
        CHECK,
        {
            "data.within_person:of_several": [
                ("kept = rows_of_several(people)", "kept = np.flatnonzero(np.asarray(y) > -1e3)"),
            ]
        },
    ),
    Bug(
        "partitions that end within a person, who counts in both",
        IN_PARTITIONS,
        {
            "engine.dask.dask_people:DaskPeopleRows.session": [
                ("held.blocks(max(self._lengths))", "slices(len(self.people.order), max(self._lengths))"),
                (
                    "[held.take(block) for block in blocks]",
                    "[People.of(np.repeat(np.arange(self.n_records), held.sizes)[each]).held() for each in blocks]",
                ),
            ]
        },
    ),
    Bug(
        "rows that move to another partition are left where they were too",
        IN_PARTITIONS,
        {
            "engine.dask.dask_people:_pieces": [
                ("value.records.take(rows)", "value.records.take(np.resize(rows[:1], len(rows)))"),
            ]
        },
    ),
    Bug(
        "rows of a new partition in the order in which they came",
        IN_PARTITIONS,
        {"engine.dask.dask_people:_joined": [("np.concatenate(pieces)[order]", "np.concatenate(pieces)")]},
    ),
    Bug(
        "splits of partitions by all rows",
        IN_PARTITIONS,
        {
            "engine.dask.dask_people:DaskPeopleRows.evaluate": [
                ("self._standing.evaluate", "DaskRows(self._features, self._y).evaluate")
            ]
        },
    ),
    Bug(
        "pairs of rows of partitions and not of people",
        IN_PARTITIONS,
        {
            "engine.dask.dask_people:DaskPeopleRows.differences": [
                ("self.people.pairs()", "People.of(np.arange(len(self._rows))).pairs()")
            ]
        },
    ),
)
