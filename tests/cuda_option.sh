#!/bin/sh
# -Dcuda=auto falls back where there is no nvcc, or one that does not work; enabled makes that an
# error. Where nvcc works, auto takes it (the release build
# of run.sh is the CUDA build).
#
#   sh tests/cuda_option.sh BUILDS
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1" && dir=$(mktemp -d "$1/cuda.XXXXXX") && trap 'rm -rf "$dir"' EXIT
failed=0
no() {
    echo "not ok cuda: $*"
    tail -n 30 "$dir/log"
    failed=1
}
printf '#!/bin/sh\necho "unsupported host compiler" >&2\nexit 1\n' >"$dir/nvcc"
chmod +x "$dir/nvcc"
printf "[binaries]\nnvcc = '%s'\n" "$dir/nvcc" >"$dir/broken.ini"

if meson setup "$dir/auto" "$root" --native-file "$dir/broken.ini" -Dcuda=auto >"$dir/log" 2>&1 &&
    grep -q 'unsupported host compiler' "$dir/log" && grep -q 'going on without CUDA' "$dir/log"; then
    echo "ok cuda: auto goes on without an nvcc that does not work, and says so"
else
    no "auto with an nvcc that does not work"
fi
if ! meson setup "$dir/enabled" "$root" --native-file "$dir/broken.ini" -Dcuda=enabled >"$dir/log" 2>&1 &&
    grep -q 'unsupported host compiler' "$dir/log"; then
    echo "ok cuda: enabled is an error with an nvcc that does not work"
else
    no "enabled with an nvcc that does not work is no error"
fi
if ! PATH="/usr/local/cuda/bin:/opt/cuda/bin:$PATH" command -v nvcc >/dev/null; then
    echo "skip cuda: no nvcc here: nothing of CUDA is built"
elif meson setup "$dir/build" "$root" -Dcuda=auto -Dgpu_arch=sm_90 >"$dir/log" 2>&1 && grep -q 'CUDA: built' "$dir/log"; then
    echo "ok cuda: auto takes the nvcc of this machine"
elif grep -q 'going on without CUDA' "$dir/log"; then
    echo "skip cuda: the nvcc here does not work: $(grep -im1 error "$dir/log")"
else
    no "the build with nvcc fails"
fi
exit "$failed"
