#!/bin/sh
# Makes a CUDA of the processor: FOLDER/bin/nvcc, include and lib64, as an installed one has them. With it the GPU
# engine is built and runs on a machine without a GPU, slowly, in every kernel:
#
#   sh tests/emulator/make.sh FOLDER && . FOLDER/env
#   meson setup build-emulated -Dcuda=enabled && ninja -C build-emulated
#
# EMULATED_GPUS says at run time how many there are (1), EMULATED_GPU_MIB what memory each has (4096).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/bin" "$1/lib64"
to=$(cd "$1" && pwd)
rm -rf "$to/include"
cp -R "$here/include" "$to/include"
cp "$here/nvcc" "$to/bin/nvcc"
rm -f "$to/lib64/libcudart_static.a"
for part in threads runtime; do
    ${CXX:-g++} -std=c++17 -O2 -g1 -fPIC -ftls-model=initial-exec ${EMULATOR_CXXFLAGS:-} -I "$to/include" \
        -c "$here/emulated_$part.cpp" -o "$to/lib64/$part.o"
    ar rcs "$to/lib64/libcudart_static.a" "$to/lib64/$part.o"
    rm "$to/lib64/$part.o"
done
# An NCCL for workers that are threads: RANKWOOD_NCCL=FOLDER/lib64/libnccl.so.2 at run time.
${CXX:-g++} -std=c++17 -O2 -g1 -fPIC -shared ${EMULATOR_CXXFLAGS:-} "$here/emulated_nccl.cpp" -o "$to/lib64/libnccl.so.2"
cat >"$to/env" <<END
PATH=$to/bin:\$PATH
LIBRARY_PATH=$to/lib64
export PATH LIBRARY_PATH
END
