"""Bad input: one clear exception each, of the package and of the fitting builtin type."""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwood
from conftest import Made
from rankwood import DataError, Dataset, FileError, FormatError, Model, ParameterError, train


def with_value(made: Made, value: float, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    X = made.X.astype(dtype)
    X[3, 2] = value
    return X


def labels(made: Made, value: float) -> np.ndarray[Any, Any]:
    y = made.y.astype(float)
    y[3] = value
    return y


def frame(made: Made, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame(made.X, columns=list("abcdef")).assign(**columns)


Case = tuple[Callable[[Made], Dataset], str]
BAD: dict[str, Case] = {
    "one dimension": (lambda m: Dataset(m.X[:, 0], m.y, qid=m.qid), r"shape \(\d+,\); expected 2 dimensions"),
    "three": (lambda m: Dataset(m.X[None], m.y, qid=m.qid), r"expected 2 dimensions"),
    "no documents": (lambda m: Dataset(m.X[:0], m.y[:0], qid=m.qid[:0]), "no documents"),
    "no features": (lambda m: Dataset(m.X[:, :0], m.y, qid=m.qid), "0 feature"),
    "empty frame": (lambda m: Dataset(pd.DataFrame(), [], qid=[]), "no documents"),
    "text": (lambda m: Dataset(m.X.astype(str), m.y, qid=m.qid), "type <U.*expected numbers"),
    "column of text": (lambda m: Dataset(frame(m, c="x"), m.y, qid=m.qid), "column 'c' .* holds 'x'"),
    "categories": (
        lambda m: Dataset(frame(m, c=pd.Categorical([0.5] * len(m.y))), m.y, qid=m.qid),
        "column 'c' has 0.5; expected categories",
    ),
    "dates": (
        lambda m: Dataset(frame(m, c=pd.Timestamp(2026, 1, 1)), m.y, qid=m.qid),
        "column 'c' has type datetime64",
    ),
    "complex": (lambda m: Dataset(m.X.astype(complex), m.y, qid=m.qid), "Complex"),
    "two columns of one name": (
        lambda m: Dataset(pd.DataFrame(m.X, columns=list("abcdea")), m.y, qid=m.qid),
        "two columns have the name 'a'",
    ),
    "not a table": (lambda m: Dataset(object(), m.y, qid=m.qid), "data is a object; expected an array"),
    "infinite": (
        lambda m: Dataset(with_value(m, np.inf), m.y, qid=m.qid),
        r"value of document 3 \(from 0\), feature 2 is infinite",
    ),
    "too large": (
        lambda m: Dataset(with_value(m, -1e39, np.float64), m.y, qid=m.qid),
        r"document 3 \(from 0\), feature 2",
    ),
    "label NaN": (lambda m: Dataset(m.X, labels(m, np.nan), qid=m.qid), r"label of document 3 \(from 0\) is nan"),
    "label below 0": (lambda m: Dataset(m.X, labels(m, -1), qid=m.qid), r"label of document 3 \(from 0\) is -1"),
    "label infinite": (lambda m: Dataset(m.X, labels(m, np.inf), qid=m.qid), r"label of document 3 .* inf"),
    "label of text": (lambda m: Dataset(m.X, ["good"] * len(m.y), qid=m.qid), "label has type .*expected numbers"),
    "label with null": (
        lambda m: Dataset(m.X, pd.array([None] * len(m.y), dtype="Int64"), qid=m.qid),
        "label",
    ),
    "labels too few": (lambda m: Dataset(m.X, m.y[1:], qid=m.qid), r"label has \d+ values for \d+ documents"),
    "labels in a cube": (lambda m: Dataset(m.X, m.X[:, :, np.newaxis], qid=m.qid), "label has shape"),
    "labels below 0 in a matrix": (lambda m: Dataset(m.X, m.X, qid=m.qid), "label of document 1 .* is -0.17"),
    "no queries": (lambda m: Dataset(m.X, m.y), "the queries are missing"),
    "qid and group": (lambda m: Dataset(m.X, m.y, qid=m.qid, group=m.group), "expected one of them"),
    "qid of floats": (lambda m: Dataset(m.X, m.y, qid=m.qid * 1.0), "qid has floats"),
    "qid of bools": (lambda m: Dataset(m.X, m.y, qid=m.qid > 9), "qid has type bool"),
    "qid with NaN": (
        lambda m: Dataset(m.X, m.y, qid=pd.Series(["a"] * 9 + [None] * (len(m.y) - 9))),
        r"qid of document 9 \(from 0\) is (nan|None)",
    ),
    "qid with NA": (
        lambda m: Dataset(m.X, m.y, qid=pd.array([None] * len(m.y), dtype="Int64"), sort=True),
        "a missing qid turns integers into floats",
    ),
    "qid with a character 0": (lambda m: Dataset(m.X, m.y, qid=["a\0b"] * len(m.y)), "character 0"),
    "qid too short": (lambda m: Dataset(m.X, m.y, qid=m.qid[1:]), r"qid has \d+ values for \d+ documents"),
    "qid comes back": (
        lambda m: Dataset(m.X, m.y, qid=np.r_[m.qid[:-1], m.qid[0]]),
        "query '7' appears again after another query",
    ),
    "text qid comes back": (
        lambda m: Dataset(m.X, m.y, qid=[f"q{one}" for one in [*m.qid[:-1], m.qid[0]]]),
        "query 'q7' appears again after another query",
    ),
    "group too short": (lambda m: Dataset(m.X, m.y, group=m.group[1:]), r"group adds up to \d+ documents"),
    "group of 0": (lambda m: Dataset(m.X, m.y, group=[0, len(m.y)]), "query of 0 documents"),
    "group of floats": (lambda m: Dataset(m.X, m.y, group=m.group + 0.5), "group has type float64"),
    "no column": (lambda m: Dataset(frame(m), "grade", qid=m.qid), "no column 'grade' for label; there are 'a'"),
    "no named columns": (lambda m: Dataset(m.X, "grade", qid=m.qid), "there are no named columns"),
    "weight below 0": (lambda m: Dataset(m.X, m.y, qid=m.qid, weight=-m.X[:, 1] ** 2), "weight 1 is -"),
    "weight NaN": (lambda m: Dataset(m.X, m.y, qid=m.qid, weight=np.full(len(m.y), np.nan)), "weight 1 is nan"),
    "weight of text": (lambda m: Dataset(m.X, m.y, qid=m.qid, weight=["x"] * len(m.y)), "weight has type"),
    "weight too short": (lambda m: Dataset(m.X, m.y, qid=m.qid, weight=m.qid[1:]), "weight has"),
    "query_weight of documents": (
        lambda m: Dataset(m.X, m.y, qid=m.qid, query_weight=np.ones(len(m.y))),
        r"query_weight has \d+ values for 40 queries",
    ),
    "names too few": (lambda m: Dataset(m.X, m.y, qid=m.qid, feature_names=["a"]), "1 feature_names for 6"),
    "2^31 rows": (
        lambda _: Dataset(np.broadcast_to(np.float32(1), (2**31, 1)), group=[2**31]),
        "at most 2147483647",
    ),
    "2^32 rows": (
        lambda _: Dataset(np.broadcast_to(np.float32(1), (2**32 + 5, 1)), group=[2**32 + 5]),
        "at most 2147483647",
    ),
    "label of a file": (lambda m: Dataset("a.txt", m.y), "label is given, but the files contain it"),
}


@pytest.mark.parametrize("name", BAD)
def test_data(made: Made, name: str) -> None:
    make, message = BAD[name]
    for _ in range(2):  # twice: a failure leaves no state
        with pytest.raises(DataError, match=message) as raised:
            train({"rounds": 1}, make(made))
        assert isinstance(raised.value, ValueError)
    train({"rounds": 1}, made.dataset())


def test_objects_that_are_no_numbers(made: Made) -> None:
    X = made.X.astype(object)
    X[3, 2] = {}
    with pytest.raises(TypeError) as raised:
        Dataset(X, made.y, qid=made.qid)
    assert isinstance(raised.value, DataError)


def forced(made: Made, small: dict[str, Any], call: Callable[..., Any], caplog: Any) -> str:
    """A call's log lines, its warnings and its exception."""
    caplog.set_level(logging.INFO, logger="rankwood")
    caplog.clear()
    try:
        call(made, small)
    except Exception as error:
        assert isinstance(error, rankwood.RankwoodError)
        said = [str(error)]
    else:
        said = []
    return "\n".join([*(record.getMessage() for record in caplog.records), *said])


def constant(made: Made) -> Dataset:
    return Dataset(np.ones_like(made.X), made.y, qid=made.qid)


def export(**how: Any) -> Callable[[Made, dict[str, Any]], None]:
    return lambda m, small: train(small, m.dataset()).export("/dev/null", **how)


SAID: dict[str, tuple[Callable[..., Any], str]] = {
    "constant features": (lambda m, _: train({}, constant(m)), "every feature is constant"),
    "no weights": (lambda m, _: train({}, m.dataset(weight=np.zeros(len(m.y)))), "all weights are 0 (change weight)"),
    "no gains": (
        lambda m, _: train({}, Dataset(m.X, np.ones(len(m.y)), qid=m.qid)), "(check the labels, or label_gain)"),
    "folds": (lambda m, _: rankwood.cv({}, m.dataset(), 2), "hint: early_stop 0 trains all rounds"),
    "steep": (
        lambda m, s: train({**s, "sigma": 100, "norm": "off"}, m.dataset(weight=np.full(len(m.y), 60000))),
        "smaller sigma",
    ),
    "base": (export(format="ranklib"), "hint: feature_base=0 shifts ids"),
    "lossy": (
        lambda m, s: train(s, Dataset(np.where(m.X > 0.5, np.nan, m.X), m.y, qid=m.qid)).export(
            "/dev/null", "ranklib", feature_base=0), "hint: lossy=True drops such directions"),
    "evaluate": (lambda m, _: rankwood.evaluate(m.dataset(), m.y, emty="skip"), "the nearest is 'empty'"),
}
SAID_OF_PARAMS: list[tuple[dict[str, Any], str]] = [
    ({"rounds": 1}, "chosen for 577 documents: leaves=8 rate=0.1 split=\"mart\""),
    ({"leaves": 4}, "training 300 rounds (rounds changes it)"),
    ({"min_docs": 5000}, "min_docs=5000 is more than half of the 577 documents (lower min_docs)"),
    ({"min_gain": 1e29, "leaves": 4}, "no split satisfies min_docs=20 and min_gain=1e29 (lower them)"),
    ({"ignore": "0-5"}, "every feature is ignored or constant (change ignore)"),
    ({"ignore": "zip"}, "or a feature name, found 'zip'"),
    ({"weights": "file"}, "weights are the data's: Dataset(..., weight=)"),
    ({"sample_features": 2}, "parameter 'sample_features': expected a number"),
    ({"min_data_in_leaf": 2}, "'min_data_in_leaf'; the nearest is 'min_docs'"),
    ({"linear_tree": True}, "there is no such parameter here\nhint: linear trees are not supported; leaves"),
    ({"valid": "a.txt"}, "hint: use train(..., valid="),
    ({"test_set": "a.txt"}, "hint: use train(..., valid="),
    ({"init": "a.txt"}, "hint: train(..., init=Model)"),
    ({"qid": "a"}, "hint: Dataset(data, label, qid=... or group=...)"),
    ({"train_data": "a"}, "hint: train(params, Dataset(...))"),
    ({"nfold": 3}, "hint: use cv(params, dataset, n_folds=K)"),
    ({"pred_contribs": True}, "hint: Model.explain returns SHAP values"),
    ({"leavs": 1}, "unknown parameter 'leavs'; the nearest is 'leaves'"),
    ({"early_stopp": 1}, "the nearest is 'early_stop'"),
    ({"xyzzy": 1}, "unknown parameter 'xyzzy'"),
]


def check_said(said: str, expected: str) -> None:
    assert expected in said
    assert not re.search(r"--[a-z]|\brw_|rankwood (train|predict|eval|cv|info|explain)", said), said


@pytest.mark.parametrize("name", SAID)
def test_messages_are_of_python(made: Made, small: dict[str, Any], name: str, caplog: Any) -> None:
    call, expected = SAID[name]
    check_said(forced(made, small, call, caplog), expected)


@pytest.mark.parametrize(("params", "expected"), SAID_OF_PARAMS)
def test_messages_of_parameters(
    made: Made, small: dict[str, Any], params: dict[str, Any], expected: str, caplog: Any
) -> None:
    check_said(forced(made, small, lambda m, _: train(params, m.dataset()), caplog), expected)


def test_options_in_messages() -> None:
    changed = rankwood._core.in_python
    for given, expected in {
        "measure with '--ties mean'": "measure with 'ties=\"mean\"'",
        "--bins 63 or --leaves 31 would fit": "bins=63 or leaves=31 would fit",
        "parameter 'split-l2' is": "parameter 'split_l2' is",
        "cannot open '/a/--rate/min-docs.txt'": "cannot open '/a/--rate/min-docs.txt'",
        "cannot open 'min-docs.txt'": "cannot open 'min-docs.txt'",
        "unknown '--other 3', a--rate, label-gains": "unknown '--other 3', a--rate, label-gains",
        "(lower --min-docs)": "(lower min_docs)",
        "--min-gain 1e-05.": "min_gain=1e-05.",
    }.items():
        assert changed(given) == expected


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"leavs": 5}, "unknown parameter 'leavs'; the nearest is 'leaves'"),
        ({"leaves": -1}, "'leaves': expected a whole number"),
        ({"leaves": "many"}, "'leaves': expected"),
        ({"rate": float("nan")}, "'rate': expected"),
        ({"objective": "logloss"}, "'objective': expected"),
        ({"rate": "0.1\0"}, "character 0"),
        ({3: 1}, "name is 3"),
        ({"depth": 3, "grow": "leavs"}, "'grow': expected"),
        ({"device": "tpu"}, "'device'"),
    ],
)
def test_parameters(made: Made, params: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        train(params, made.dataset())
    assert isinstance(raised.value, ValueError)


def test_arguments_of_train(made: Made) -> None:
    data = made.dataset()
    with pytest.raises(TypeError, match=r"train_set is a ndarray; expected a rankwood\.Dataset"):
        train({}, made.X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="validation set 'v' is a ndarray"):
        train({}, data, valid={"v": made.X})  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="cannot have the name 'train'"):
        train({}, data, valid={"train": data})


def test_files(tmp_path: Any) -> None:
    for call in (lambda path: Dataset(path).n_docs, Model.load, lambda path: Model.import_from(path, "lightgbm")):
        with pytest.raises(FileError, match="No such file") as raised:
            call(tmp_path / "none")
        assert isinstance(raised.value, OSError)
    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5\n1 qid:1 1:x\n")
    with pytest.raises(DataError, match=r"a\.txt:2:"):
        _ = Dataset(tmp_path / "a.txt").n_docs


def test_files_of_models(model: Model, tmp_path: Any) -> None:
    with pytest.raises(FileError):
        model.save(tmp_path / "no" / "folder")
    data = model.to_bytes()
    later = data.replace(b"rankwood model 6", b"rankwood model 9")
    for bad in (b"", b"junk", data[: len(data) // 2], data.replace(b"leaf 0", b"leaf 7", 1), later):
        with pytest.raises(FormatError) as raised:
            Model.from_bytes(bad)
        assert isinstance(raised.value, ValueError)
    pickled = pickle.dumps(model)
    with pytest.raises(FormatError, match="a model of version 9; expected version 1 to 6"):
        pickle.loads(pickled.replace(b"rankwood model 6", b"rankwood model 9"))
    with pytest.raises(rankwood.RankwoodError, match="unknown format 'lightgmb'\\nhint: did you mean 'lightgbm'"):
        model.export(tmp_path / "x", "lightgmb")


def test_measuring(made: Made, model: Model) -> None:
    with pytest.raises(DataError, match=r"scores have shape \(3,\)"):
        rankwood.evaluate(made.dataset(), [1, 2, 3])
    with pytest.raises(ParameterError, match="ndgc"):
        rankwood.evaluate(made.dataset(), model, "ndgc@10")
    with pytest.raises(DataError, match=r"NaN|nan|number"):
        rankwood.evaluate(made.dataset(), np.full(len(made.y), np.nan))
    with pytest.raises(ParameterError, match="'size'; expected 'gain' or 'splits'"):
        model.importance("size")


def test_every_error_is_of_a_fitting_builtin() -> None:
    kinds = [
        one
        for one in vars(rankwood).values()
        if isinstance(one, type) and issubclass(one, Exception) and not issubclass(one, Warning)
    ]
    assert len(kinds) >= 9
    for kind in kinds:
        assert issubclass(kind, rankwood.RankwoodError)
        if kind is not rankwood.RankwoodError:
            assert kind.__mro__[-4] is not rankwood.RankwoodError or len(kind.__mro__) > 4
            builtin = [one for one in kind.__mro__ if one.__module__ == "builtins"]
            assert builtin[0] not in (Exception, BaseException), kind


def test_repeated_failures_leak_nothing(made: Made, model: Model) -> None:
    """1,000 failing calls of each kind take no memory: 1 MiB more would be 1 KiB for each of a kind."""
    data = model.to_bytes()[:-30]

    def fail() -> None:
        for call in (
            lambda: train({"rounds": 1}, Dataset(made.X, made.y, qid=np.r_[made.qid[:-1], made.qid[0]])),
            lambda: train({"leavs": 1}, made.dataset()),
            lambda: Model.from_bytes(data),
            lambda: model.predict(made.X[:, :1]),
        ):
            with pytest.raises(rankwood.RankwoodError):
                call()

    for _ in range(200):
        fail()
    before = resident()
    for _ in range(1000):
        fail()
    assert resident() - before < 2**20


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize(
    ("begins", "seems", "hint"),
    [
        (b"tree\nversion=v4\n", "a LightGBM model", r"Model\.import_from\('.*', 'lightgbm'\)"),
        (b'{"learner":{"attributes":{}}}', "an XGBoost model", r"Model\.import_from\('.*', 'xgboost'\)"),
        (b'{\n"features_info": {}}', "a CatBoost model", r"Model\.import_from\('.*', 'catboost'\)"),
        (b"CBM1x", "a CatBoost model in its binary format", r"save_model\('model\.json', format='json'\)"),
        (b"\x80\x04\x95\0\0\0\x8c\x10lightgbm.sklearn", "a Python pickle of LightGBM", "booster_"),
        (b"rankwood checkpoint 1\n", "a training checkpoint", "resume"),
        (b"1 qid:1 1:0.5\n", "LETOR text", "Dataset reads data"),
    ],
)
def test_errors_name_the_format_of_other_files(
    made: Made, tmp_path: Any, begins: bytes, seems: str, hint: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(begins)
    with pytest.raises(FormatError, match=f"looks like {seems}; expected a Rankwood model\nhint: .*{hint}"):
        Model.load(path)
    if "LETOR" not in seems and "checkpoint" not in seems:
        with pytest.raises(DataError, match=f"looks like {seems}; expected LETOR text.*\nhint: .*{hint}"):
            train({"rounds": 1}, Dataset(path))
        with pytest.raises(FormatError, match=f"looks like {seems}; expected a model in format 'solr'"):
            Model.import_from(path, "solr")


def test_names_in_messages(made: Made, model: rankwood.Model, small: dict[str, Any]) -> None:
    """Features have the caller's names in messages that the library writes with numbers."""
    wrong = made.X.copy()
    wrong[3, 0] = np.inf
    table = pd.DataFrame(wrong, columns=["price", *"bcdef"])
    plain = pd.DataFrame(made.X, columns=table.columns)
    trained = rankwood.train(small, rankwood.Dataset(plain, made.y, qid=made.qid))
    infinite = r"document 3 \(from 0\), feature 'price' is infinite"
    for call in (
        lambda: rankwood.train(small, rankwood.Dataset(table, made.y, qid=made.qid)),
        lambda: trained.predict(table),
        lambda: trained.predict(wrong),
        lambda: trained.predict(rankwood.Dataset(table)),
        lambda: rankwood.evaluate(rankwood.Dataset(table, made.y, qid=made.qid), trained),
    ):
        with pytest.raises(rankwood.DataError, match=infinite):
            call()
    with pytest.raises(rankwood.DataError, match=r"document 3 \(from 0\), feature 0 is infinite"):
        model.predict(wrong)


def test_gradients_of_a_built_in_objective(made: Made, small: dict[str, Any]) -> None:
    """They may be too large, too; the message names the objective."""
    y = made.y.astype(float)
    y[5] = 3e38
    with pytest.raises(rankwood.DataError, match=r"^objective queryrmse: gradient of document \d+ \(from 0\) is -"):
        rankwood.train({**small, "objective": "queryrmse"}, rankwood.Dataset(made.X, y, qid=made.qid))


def test_a_device_that_is_not_there_is_said_before_data_are_read(
    made: Made, small: dict[str, Any], tmp_path: Any
) -> None:
    model = train(small, made.dataset())
    with pytest.raises(rankwood.UnsupportedError, match=r"no device cuda:255|no GPU|built without CUDA"):
        train({"device": "cuda:255"}, Dataset(tmp_path / "nothing"))
    with pytest.raises(rankwood.UnsupportedError, match=r"no device cuda:255|no GPU|built without CUDA"):
        rankwood.cv({"device": "cuda:255"}, Dataset(tmp_path / "nothing"), 3)
    with pytest.raises(rankwood.UnsupportedError, match=r"no device cuda:255|no GPU|built without CUDA"):
        rankwood.select({"device": "cuda:255"}, Dataset(tmp_path / "nothing"), Dataset(tmp_path / "nothing"), loss=0.1)
    with pytest.raises(rankwood.UnsupportedError, match=r"no device cuda:255|no GPU|built without CUDA"):
        model.refit(Dataset(tmp_path / "nothing"), params={"device": "cuda:255"})
    with pytest.raises(ParameterError, match=r"expected auto, cpu, cuda, cuda:N or cuda:all, found 'gpu'"):
        train({"device": "gpu"}, Dataset(tmp_path / "nothing"))


def test_bytes_of_input_are_readable(tmp_path: Any) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"1 qid:1 1:\xe9\xff\x1b\n")
    with pytest.raises(DataError, match=r"found '\\xe9\\xff\\x1b'"):
        train({"rounds": 1}, Dataset(path))
