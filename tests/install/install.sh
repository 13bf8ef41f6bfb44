#!/bin/sh
# Installs Rankwood into an empty folder and uses it as a new user would. The example is compiled with pkg-config's
# flags as C and as C++, linked with the shared and the static library, and run.
#
#   sh install.sh SOURCE BUILD
set -u
source=$1 build=$2
root=$(mktemp -d) && trap 'rm -rf "$root"' EXIT
fail() {
    echo "install: $*" >&2
    exit 1
}

meson install -C "$build" --no-rebuild --quiet --destdir "$root" >"$root/log" 2>&1 ||
    fail "meson install failed: $(cat "$root/log")"
cd "$root" || exit 2

one() { # a file of that name, exactly one
    [ "$(find . ! -type d -name "$1" | wc -l)" = 1 ] || fail "not exactly one '$1': $(find . -type f)"
    find "$root" ! -type d -name "$1"
}
one rankwood.h >/dev/null && one rankwood_score.h >/dev/null && one librankwood.a >/dev/null &&
    one librankwood-score.a >/dev/null && one rankwood.1 >/dev/null &&
    one rankwood >/dev/null || exit 1
shared=$(one librankwood.so) || exit 1
[ "$(find . -name '*.h' | wc -l)" = 2 ] || fail "other headers are installed too"
pc=$(one rankwood.pc) || exit 1
libdir=$(dirname "$shared")
export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$root"
export LD_LIBRARY_PATH="$libdir"
# Where ld.so and pkg-config search, if it was not configured otherwise.
prefix=$(sed -n 's/^prefix=//p' "$pc")
if [ "$prefix" = /usr/local ] && [ -e /etc/debian_version ]; then
    pkg-config --variable pc_path pkg-config | tr : '\n' | grep -qx "$(dirname "${pc#"$root"}")" ||
        fail "pkg-config does not search '${pc#"$root"}'"
    cat /etc/ld.so.conf.d/*.conf | grep -qx "${libdir#"$root"}" || fail "ld.so does not search '${libdir#"$root"}'"
fi
cflags=$(pkg-config --cflags rankwood) || fail "pkg-config does not read rankwood.pc"
libs=$(pkg-config --libs rankwood)
static_libs=$(pkg-config --libs --static rankwood | sed 's/-lrankwood/-l:librankwood.a/')

# Only the public functions are exported, and all of them.
nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' >symbols
grep -v '@@RANKWOOD_[0-9.]*$' symbols && fail "exported without a version (src/librankwood.map)"
sed 's/@.*//' symbols | sort >exported
grep -v '^rw_' exported && fail "exported, but not of the public header"
cat "$source/src/rankwood_score.h" "$source/src/rankwood.h" | tr '\n' ' ' | grep -o 'RW_API [^;]*;' | grep -v '__attribute__' |
    sed 's/(.*//; s/.*[ *]//' | sort >declared
[ -s declared ] || fail "no RW_API function found in the public header"
diff declared exported >difference || fail "declared (<) and exported (>) differ: $(cat difference)"
# docs/reference/security.md: nothing is called that starts a program, or that connects; CUDA's runtime, where it is inside, has calls
# of sockets of its own.
calls='system\|popen\|v*fork\|exec[vl].*\|posix_spawn.*'
"$(one rankwood)" --version | grep -qx 'CUDA: none' &&
    calls="$calls"'\|socket\|connect\|bind\|listen\|accept4*\|send\|sendto\|sendmsg\|getaddrinfo\|gethostby.*'
for file in "$shared" "$(one rankwood)"; do
    nm -D --undefined-only "$file" | awk '{ print $NF }' | sed 's/@.*//' | grep -x "$calls" && fail "$file calls that"
done
soname=$(objdump -p "$shared" | awk '/SONAME/ { print $2 }')
case $soname in
librankwood.so.*) ;;
*) fail "no versioned soname: '$soname'" ;;
esac

program=$(find "$root" -name rankwood -type f) || exit 1
"$program" synth --shape letor --queries 60 --seed 1 -o train.txt || fail "synth failed"
"$program" synth --shape letor --queries 30 --seed 2 -o valid.txt.gz || fail "synth failed"
"$program" synth --shape letor --queries 30 --seed 3 -o test.txt || fail "synth failed"

try() { # name, compiler, flags...
    name=$1
    shift
    "$@" -o "$name" || fail "$name: does not compile"
    "./$name" train.txt valid.txt.gz test.txt model.txt >"$name.out" || fail "$name: does not run"
    grep -q 'trees; ndcg@10 of the test set: 0\.' "$name.out" || fail "$name: $(cat "$name.out")"
    cmp -s "$name.out" c_shared.out || fail "$name prints something else than c_shared"
}
example=$source/examples/quickstart.c
warnings="-Wall -Wextra -Wpedantic -Werror"
try c_shared gcc -std=c17 $warnings $cflags "$example" $libs
try c_static gcc -std=c17 $warnings $cflags "$example" $static_libs
ldd c_static | grep -q librankwood && fail "the static program needs the shared library"
if command -v g++ >/dev/null 2>&1; then
    cp "$example" quickstart.cc
    try cxx_shared g++ -std=c++17 $warnings $cflags quickstart.cc $libs
else
    echo "no g++ here: the header is not tried from C++"
fi
# With MPI, the library finds its MPI plugin in its own folder.
if [ -n "$(find . -name rankwood_comm_mpi.so)" ]; then
    cat >ranks.c <<'END'
#include <rankwood.h>
#include <stdio.h>
int main(void)
{
    struct rw_ctx *ctx;
    struct rw_comm *comm;
    if (rw_ctx_new(&ctx) < 0)
        return 1;
    if (rw_comm_open(ctx, "mpi", &comm) < 0)
        return puts(rw_last_error(ctx)) > 0;
    if (rw_ctx_set_comm(ctx, comm) < 0)
        return 1;
    const int n_ranks = rw_workers_count(ctx);
    rw_ctx_set_comm(ctx, NULL);
    rw_comm_free(comm);
    rw_ctx_free(ctx);
    return n_ranks != 1;
}
END
    gcc -std=c17 $warnings $cflags ranks.c $libs -o ranks && ./ranks || fail "the library does not find rankwood_comm_mpi.so"
fi
if command -v man >/dev/null 2>&1; then
    man --warnings -l "$(find "$root" -name rankwood.1)" 2>&1 >/dev/null | grep . && fail "man warns"
fi
echo "install: $(wc -l <exported) functions exported; C, C++ and static programs run"
