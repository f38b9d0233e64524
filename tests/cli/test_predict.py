from dpsparse.cli import main


def test_predict_wants_the_columns_of_the_fit(folder, capsys, people, fit, failed):
    fit("people.csv", "--out", "model.json")
    capsys.readouterr()
    people.drop(columns=["id", "cost"]).to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv"])
    assert len(capsys.readouterr().out.splitlines()) == len(people) + 1
    people.drop(columns="age").to_csv("new.csv", index=False)
    assert "no column 'age'" in failed("predict", "model.json", "new.csv")
    # A place outside the public categories is predicted like the baseline.
    people.assign(region="moon").to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv"])
    moon = capsys.readouterr().out
    people.assign(region="north").to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv"])
    assert capsys.readouterr().out == moon
