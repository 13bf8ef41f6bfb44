#!/bin/sh
# Tests the option -Dcuda. `auto` builds without CUDA if nvcc is missing or does not work; `enabled` fails then. The
# release build of run.sh tests `auto` with a working nvcc. The last cases check for which GPUs kernels are compiled.
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

# A fake nvcc that lists its GPUs and compiles nothing, on machines with and without a GPU. Setup fails after the line
# about CUDA, because this nvcc has no CUDA libraries; the test reads that line only.
cat >"$dir/knows" <<'END'
#!/bin/sh
[ "$1" = --list-gpu-code ] && printf 'sm_%s\n' 75 80 86 90 100
exit 0
END
printf '#!/bin/sh\necho "no devices were found"\nexit 6\n' >"$dir/no_gpu"
printf '#!/bin/sh\nprintf "9.0\\n9.0\\n8.0\\n"\n' >"$dir/gpus"
printf '#!/bin/sh\necho 12.1\n' >"$dir/newer_gpu"
chmod +x "$dir/knows" "$dir/no_gpu" "$dir/gpus" "$dir/newer_gpu"
targets() { # what, nvidia-smi, option, the line's end
    printf "[binaries]\nnvcc = '%s'\nnvidia-smi = '%s'\n" "$dir/knows" "$dir/$2" >"$dir/targets.ini"
    rm -rf "$dir/targets"
    meson setup "$dir/targets" "$root" --native-file "$dir/targets.ini" -Dtests=disabled -Dmpi=disabled $3 >"$dir/log" 2>&1
    if grep -q "^Message: CUDA: built, for $4\$" "$dir/log"; then
        echo "ok cuda: kernels for $1"
    else
        no "kernels for $1: expected 'built, for $4'"
    fi
}
later='sm_75 and later GPUs, whose driver compiles the kernels on first use'
targets "the GPUs of the machine" gpus "" 'sm_90, sm_80'
targets "the oldest GPU where there is none" no_gpu "" "$later"
targets "the oldest GPU where nvcc does not know the machine's" newer_gpu "" "$later"
targets "all GPUs" gpus -Dgpu_arch=all 'sm_75, sm_80, sm_86, sm_90, sm_100, compute_100'

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
