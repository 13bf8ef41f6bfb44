#!/bin/sh
# The Python package as a stranger gets it: pip builds it from the tree, in an environment of its own and
# with what it fetches itself; then ruff, mypy and pytest. Prints a line a test: ok, not ok or skip.
#
#   sh tests/python/python.sh FOLDER      FOLDER: for the environment and the build; made anew
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
cd "$root" || exit 2
tools="ruff mypy pytest pandas scipy scikit-learn matplotlib pyarrow"
for_examples="lightgbm optuna mlflow-skinny onnx onnxruntime jupytext nbclient ipykernel"

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "skip python: needs Python 3.11 or later"
    exit 0
fi
rm -rf "$folder/venv" "$folder/build" "$folder/pycache"
# Not into the tree; and with --no-compile, only what is imported is compiled.
PYTHONPYCACHEPREFIX=$folder/pycache
export PYTHONPYCACHEPREFIX PIP_DISABLE_PIP_VERSION_CHECK=1
if ! python3 -m venv "$folder/venv"; then
    echo "skip python: python3 -m venv makes no environment here"
    exit 0
fi
PATH=$folder/venv/bin:$PATH
export PATH
# The index is asked first, so that only its absence is a skip, and nothing that goes wrong after it.
if ! pip install -q --no-compile $tools; then
    echo "skip python: pip cannot fetch packages here"
    exit 0
fi
if ! pip install -q --no-compile $for_examples; then
    echo "skip python: pip cannot fetch what the examples need"
fi
at=$(date +%s)
if ! pip install -q . -Cbuild-dir="$folder/build" -Csetup-args=-Dcuda=disabled; then
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
    fi
}
check "ruff" ruff check --no-cache python tests/python examples docs
# of what was installed, outside of the tree
check "mypy --strict" sh -c 'cd "$1" && mypy --config-file "$2/pyproject.toml" --cache-dir "$1/mypy" -p rankwood' \
    sh "$folder" "$root"

RANKWOOD_PROGRAM=$folder/build/src/cli/rankwood
SCIPY_ARRAY_API=1 # or scikit-learn leaves out its check of array_api input
export RANKWOOD_PROGRAM SCIPY_ARRAY_API
pytest -p no:cacheprovider --rootdir "$root" -o console_output_style=classic -rA --tb=short tests/python \
    >"$folder/pytest.log" 2>&1
status=$?
sed -n 's/^PASSED tests/ok tests/p; s/^XFAIL tests/ok (as expected) tests/p
s/^SKIPPED \[[0-9]*\] /skip /p; s/^FAILED tests/not ok tests/p; s/^ERROR tests/not ok tests/p' "$folder/pytest.log"
[ "$status" = 0 ] || tail -n 200 "$folder/pytest.log" | sed 's/^/    /'

sh tests/python/python_leaks.sh "$folder/leaks" || failed=1
[ "$status" = 0 ] && [ "$failed" = 0 ]
