# Read by run.sh and reproduce.sh, with $root set: $program and $library of the build, which is made if it is missing.
build=${RANKWOOD_BUILD:-$root/build}
program=$build/src/cli/rankwood
library=$build/src/librankwood.so
if [ ! -x "$program" ] || [ ! -e "$library" ]; then
    echo "${0##*/}: building Rankwood" >&2
    [ -f "$build/build.ninja" ] || meson setup "$build" "$root" --buildtype=release >&2 || exit 1
    shared=$(ninja -C "$build" -t targets all | sed -n 's|^\(src/librankwood\(-score\)\{0,1\}\.so[0-9.]*\): .*|\1|p')
    ninja -C "$build" src/cli/rankwood $shared >&2 || exit 1
fi
