#!/bin/sh
# Workers that are processes of mpirun: every call, and the end of all where one fails. Exit 77: there is no mpirun
# here.
#
#   sh comm_mpi.sh CHECK_COMM MODULE SMALL_PARTS_MODULE
set -u
check=$1 module=$2 small=$3
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
command -v mpirun >/dev/null 2>&1 || {
    echo "no mpirun here"
    exit 77
}
# Open MPI asks twice before it runs as root, and for every worker without a processor of its own. Others
# do not know these variables.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
failed=0
no() {
    echo "not ok: $*"
    cat "$dir/out" "$dir/err"
    failed=1
}
workers() { # N what: within two minutes, since workers wait by turns where there are more of them than processors
    timeout 120 mpirun -n "$1" "$check" "$2" >"$dir/out" 2>"$dir/err"
    status=$?
    [ "$status" = 124 ] && no "$2 of $1 workers: still there after 120 s"
}
says() { # text
    grep -qF "$1" "$dir/out" "$dir/err"
}

for RANKWOOD_COMM_MPI in "$module" "$small"; do
    export RANKWOOD_COMM_MPI
    for n in 1 2 3 4; do
        workers "$n" mpi
        { [ "$status" = 0 ] && [ "$(grep -c "mpi: all calls of $n workers" "$dir/out")" = 2 ]; } || no "calls of $n workers"
    done
done
export RANKWOOD_COMM_MPI="$module"

# An error of one worker ends all of them, with one message.
for n in 2 4; do
    workers "$n" agree
    { [ "$status" = 1 ] && [ "$(cat "$dir/out" "$dir/err" | grep -c '^error: worker 1: label 7 is bad$')" = 1 ]; } ||
        no "agree: exit $status"
    says MPI_ABORT && no "agree: aborts what could end by itself"
    workers "$n" give-up
    { [ "$status" = 1 ] && [ "$(cat "$dir/out" "$dir/err" | grep -c '^error: ')" = 1 ] && says 'error: worker 1: label 7 is bad'; } ||
        no "give-up: exit $status"
    for how in leave killed; do
        workers "$n" "$how"
        [ "$status" != 0 ] || no "$how: exit 0"
    done
done

for n in 1 2; do
    workers "$n" over
    [ "$status" = 0 ] || no "MPI that is over: exit $status"
done

workers 2 rest
[ "$status" = 0 ] || no "a worker that waits keeps its processor busy"

# Missing and unsuitable MPI plugins.
unsupported() { # file, text
    RANKWOOD_COMM_MPI=$1 "$check" mpi >"$dir/out" 2>"$dir/err" && no "'$1' is taken"
    { says "$2" && says 'hint: install an MPI with headers'; } || no "'$1': another message"
}
unsupported "$dir/none.so" "cannot open '$dir/none.so'"
echo 'int rankwood_comm_open_0(void) { return 0; }' >"$dir/other.c"
cc -shared -fPIC "$dir/other.c" -o "$dir/other.so" && unsupported "$dir/other.so" 'belongs to a different version of Rankwood'
cp "$check" "$dir/alone"
check=$dir/alone
unsupported "" "cannot connect workers through MPI: 'rankwood_comm_mpi.so' was not found"

# A launcher that is unknown to MPI would make each process train alone.
OMPI_COMM_WORLD_SIZE='' SLURM_STEP_NUM_TASKS=3 RANKWOOD_COMM_MPI=$module "$check" mpi >"$dir/out" 2>"$dir/err" && no "three workers that are alone"
says '3 processes were started, but mpi connects only one' || no "three workers that are alone: another message"
launched() { # variable=value, workers
    [ "$(env "$1" "$check" launched)" = "$2" ] || no "launched by $1: $(env "$1" "$check" launched)"
}
launched NONE=1 1
launched OMPI_COMM_WORLD_SIZE=4 4
launched PMI_SIZE=2 2
launched MV2_COMM_WORLD_SIZE=2 2
launched SLURM_STEP_NUM_TASKS=16 16
launched SLURM_NTASKS=16 1
launched PMI_SIZE=1 1
launched PMI_SIZE=x 1
exit "$failed"
