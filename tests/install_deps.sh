#!/bin/sh
# Installs the missing dependencies of a build with apt, and prints their names. "python" installs those of the Python
# package, in a virtual environment; "test" adds those of the tests. If nothing is missing, the script needs neither the
# network nor root.
#
#   sh tests/install_deps.sh [build|python|test]
#
# Exit 0: everything that a build needs is installed. A missing test tool is only noted, and the tests that need it are
# skipped. Exit 1: a dependency of the build is missing and could not be installed.
set -u
what=${1:-build}

build_packages="gcc libc6-dev meson ninja-build pkg-config zlib1g-dev libjansson-dev libexpat1-dev"
python_packages="python3 python3-venv python3-dev"
# apt's cmake only recommends make, without which it builds nothing.
# curl and the last two: examples/serve_cpp.
test_packages="$python_packages ca-certificates abigail-tools ccache libopenmpi-dev openmpi-bin g++ cmake make clang libcriterion-dev locales curl libcpp-httplib-dev nlohmann-json3-dev"

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ] && return 0
    case $1 in
    gcc | g++ | cmake | make | clang | ccache | python3 | meson) command -v "$1" >/dev/null 2>&1 ;;
    ninja-build) command -v ninja >/dev/null 2>&1 ;;
    # a Python that is not apt's has both
    python3-venv) python3 -c 'import ensurepip' >/dev/null 2>&1 ;;
    python3-dev)
        python3 -c 'import os, sysconfig as s, sys
sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))' >/dev/null 2>&1
        ;;
    pkg-config) command -v pkg-config >/dev/null 2>&1 ;;
    *) return 1 ;;
    esac
}

missing_of() {
    for package in "$@"; do
        installed "$package" || printf '%s ' "$package"
    done
}

# clang's fuzzing runtime may have a package of its own, whose name contains clang's version.
clang_runtime() {
    command -v clang >/dev/null 2>&1 || return 0
    runtime=$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a" 2>/dev/null)
    [ -f "$runtime" ] && return 0
    version=$(clang -dumpversion | cut -d. -f1)
    apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1 && echo "libclang-rt-$version-dev"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

updated=
install() { # packages
    [ $# -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
        echo "missing, and neither root nor sudo to install them: $*" >&2
        return 1
    fi
    echo "installing through apt: $*"
    if [ -z "$updated" ]; then
        as_root apt-get update -q >&2 || echo "note: apt-get update failed, going on" >&2
        updated=1
    fi
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@" >&2
}

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "note: no apt here; needed: gcc, meson, ninja, pkg-config, zlib, jansson and expat with headers" >&2
    exit 0
fi

wanted=
case $what in
build) ;;
python) build_packages="$build_packages $python_packages" ;;
test) wanted=$(missing_of $test_packages) ;;
*)
    echo "expected build, python or test, found '$what'" >&2
    exit 2
    ;;
esac
needed=$(missing_of $build_packages)

# Installing all at once is fastest. If that fails, the dependencies of the build are installed first.
if [ -n "$needed$wanted" ] && ! install $needed $wanted; then
    install $needed || exit 1
    for package in $wanted; do
        install "$package" || echo "note: no '$package': what needs it is skipped" >&2
    done
fi
if [ "$what" = test ]; then
    runtime=$(clang_runtime)
    if [ -n "$runtime" ]; then
        install "$runtime" || echo "note: no '$runtime': fuzzing is skipped" >&2
    fi
fi
# What opens a report's page. (Where 'chromium' is no package of apt's, as on Ubuntu, its test is skipped.)
browser() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    return 1
}
if [ "$what" = test ] && ! browser; then
    install chromium || echo "note: no 'chromium': opening a page is skipped" >&2
fi
[ -z "$(missing_of $build_packages)" ]
