#!/bin/sh
# The Debian packages, from the commit that is checked out: built in a root that has nothing but what debian/control
# asks for, looked at by lintian (no error, no warning), and installed and used in another root that has nothing.
# Needs root, mmdebstrap and a mirror. Prints a line a test: ok, not ok or skip.
#
#   sh packaging/debian.sh FOLDER [SUITE]      FOLDER: the packages, and logs; SUITE: trixie
set -u
source=$(cd "$(dirname "$0")/.." && pwd) || exit 2
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
suite=${2:-trixie}
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null 2>&1; then
    echo "skip debian: needs root and mmdebstrap"
    exit 0
fi
work=$(mktemp -d)
trap 'umount "$work"/*/proc 2>/dev/null; rm -rf "$work"' EXIT
fail() { # what, log
    tail -n 40 "$2" | sed 's/^/    /'
    echo "not ok debian: $1"
    exit 1
}
# A root of the suite, with these packages.
make_root() { # name packages
    mmdebstrap --variant=minbase --include="$2" "$suite" "$work/$1" >"$folder/$1.log" 2>&1
}
inside() { # root command...
    root=$1
    shift
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
        DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS="parallel=2 ${DEB_BUILD_OPTIONS:-}" "$@"
}

if ! make_root build "build-essential,ca-certificates,lintian"; then
    tail -n 5 "$folder/build.log"
    echo "skip debian: no root of $suite can be made here"
    exit 0
fi
mount -t proc proc "$work/build/proc" 2>/dev/null
mkdir "$work/build/src" "$work/build/src/rankwood" && git -C "$source" archive HEAD | tar -x -C "$work/build/src/rankwood" || exit 2
inside "$work/build" sh -c 'apt-get -q update && cd /src/rankwood && apt-get -q -y build-dep --no-install-recommends .' >"$folder/build-dep.log" 2>&1 ||
    fail "apt-get build-dep" "$folder/build-dep.log"
inside "$work/build" sh -c 'cd /src/rankwood && dpkg-buildpackage -us -uc' >"$folder/buildpackage.log" 2>&1 ||
    fail "dpkg-buildpackage" "$folder/buildpackage.log"
cp "$work/build/src/"*.deb "$work/build/src/"*.dsc "$work/build/src/"*.changes "$work/build/src/"*.tar.* "$folder/"
echo "ok debian: dpkg-buildpackage"
if inside "$work/build" sh -c 'lintian --fail-on error,warning --allow-root --info /src/*.changes' >"$folder/lintian.log" 2>&1; then
    echo "ok debian: lintian"
else
    fail "lintian" "$folder/lintian.log"
fi
umount "$work/build/proc" 2>/dev/null

make_root clean "ca-certificates" || fail "a second root" "$folder/clean.log"
mkdir "$work/clean/debs" "$work/clean/tree" && cp "$folder"/*.deb "$work/clean/debs/"
rm -f "$work/clean/debs/"*dbgsym*
git -C "$source" archive HEAD packaging examples | tar -x -C "$work/clean/tree"
inside "$work/clean" sh -c 'apt-get -q update && apt-get -q -y install --no-install-recommends /debs/rankwood_*.deb /debs/librankwood1_*.deb /debs/python3-rankwood_*.deb' \
    >"$folder/install.log" 2>&1 || fail "the packages cannot be installed" "$folder/install.log"
inside "$work/clean" python3 -c 'import rankwood; print(rankwood.__version__)' >>"$folder/install.log" 2>&1 ||
    fail "the Python package needs more than its package says" "$folder/install.log"
inside "$work/clean" sh -c 'apt-get -q -y install --no-install-recommends /debs/librankwood-dev_*.deb gcc libc6-dev pkgconf' \
    >>"$folder/install.log" 2>&1 || fail "librankwood-dev cannot be installed" "$folder/install.log"
echo "ok debian: installs in a clean $suite"
inside "$work/clean" sh /tree/packaging/try_installed.sh
