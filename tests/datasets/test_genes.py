import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsparse.datasets import fetch_metabric, fetch_nci60

HERE = os.environ.get("DPSPARSE_DATA")
needs_files = pytest.mark.skipif(
    not HERE or not (Path(HERE) / "metabric.parquet").is_file(),
    reason="DPSPARSE_DATA does not name a folder with nci60.parquet and metabric.parquet",
)


@pytest.mark.slow
@needs_files
def test_nci60():
    X, y = fetch_nci60(return_X_y=True)
    assert X.shape == (59, 14_194)
    assert X.dtype == np.float32
    assert y.shape == (59,)
    bunch = fetch_nci60(as_frame=True)
    assert bunch.target.name == "KRT19_protein"
    assert "KRT19_protein" not in bunch.feature_names
    # The gene behind the protein: correlation 0.58 over all lines, as the file's description says.
    assert np.corrcoef(bunch.data["KRT19"], bunch.target)[0, 1] == pytest.approx(0.58, abs=0.01)


@pytest.mark.slow
@needs_files
def test_metabric():
    X, y = fetch_metabric(return_X_y=True)
    assert X.shape == (1_884, 489)
    assert np.isfinite(y).all()
    gene = fetch_metabric(target="expr_GATA3", as_frame=True)
    assert gene.data.shape == (1_904, 488)
    assert "expr_GATA3" not in gene.feature_names
    mutations = fetch_metabric(features="mutation", return_X_y=True)[0]
    assert mutations.shape == (1_884, 173)
    assert set(np.unique(mutations)) == {0.0, 1.0}
    assert fetch_metabric(features="all").data.shape[1] == 489 + 173
    for target in ("clin_cohort_name", "clin_er_status"):
        with pytest.raises(ValueError, match="target="):
            fetch_metabric(target=target)
    with pytest.raises(ValueError, match="features='genes'"):
        fetch_metabric(features="genes")


@needs_files
def test_the_papers_genes_are_of_the_mutation_panel():
    genes = {
        "PIK3CA", "MUC16", "SYNE1", "KMT2C", "GATA3", "CDH1", "MAP3K1", "NCOR2", "CBFB", "AHNAK2", "NOTCH1", "TG",
    }  # fmt: skip
    data = fetch_metabric(features="mutation", as_frame=True).data
    assert data.shape[1] == 173
    often = data.mean().sort_values(ascending=False).index.str.removeprefix("mut_")
    assert genes <= set(often)
    assert len(genes & set(often[:11])) == 8


@pytest.mark.parametrize("fetch", [fetch_nci60, fetch_metabric])
def test_a_missing_file_says_how_to_place_it(fetch, tmp_path, monkeypatch):
    monkeypatch.setenv("DPSPARSE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="by hand"):
        fetch()
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        fetch(data_home=tmp_path / "elsewhere")


def test_other_files_need_consent(tmp_path):
    table = {"clin_tumor_size": [1.0, None, 3.0], "expr_A": [0.1, 0.2, 0.3], "mut_A": ["0", "R1", "S2"]}
    pd.DataFrame(table).to_parquet(tmp_path / "metabric.parquet")
    with pytest.raises(ValueError, match="not the known file"):
        fetch_metabric(data_home=tmp_path)
    table = fetch_metabric(data_home=tmp_path, verify=False, features="all")
    assert table.data.tolist() == [[pytest.approx(0.1), 0.0], [pytest.approx(0.3), 1.0]]
    assert table.target.tolist() == [1.0, 3.0]
