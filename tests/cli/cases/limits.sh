# room: base
# How many threads 'auto' starts where affinity or Slurm limits them; no byte of a model depends on it.
# limits_cgroup.sh is about control groups.
command -v taskset >/dev/null || { echo "no taskset to limit affinity" >&2; exit 77; }
unset SLURM_CPUS_PER_TASK
small_data
cpu=$(taskset -pc $$ | sed 's/.*[:,-] *//') # one that this shell may run on

# under NAME COMMAND...: runs the program under the command; prints the threads of the plan and of a training's log
under() {
    name=$1
    shift
    "$@" "$RANKWOOD" train train.txt --rounds 3 --leaves 7 --device cpu --quiet --plan >plan || exit 1
    "$@" "$RANKWOOD" train train.txt --valid valid.txt.gz --rounds 5 --leaves 15 --device cpu --quiet -o "$name" --log log || exit 1
    awk '$1 == "threads" { print "plan: " $2 }' plan
    sed -n '/"record":"params"/s/.*"params":{.*"threads":\([0-9]*\),.*"given":.*/log: \1/p' log
}
under all env >threads
say 'all: no more than processors' test "$(sed -n 's/plan: //p' threads)" -le "$(nproc --all)"
say 'all: log as plan' test "$(sed -n 's/plan: //p' threads)" = "$(sed -n 's/log: //p' threads)"
echo 'one processor:'
under one taskset -c "$cpu"
echo 'one by Slurm:'
under slurm env SLURM_CPUS_PER_TASK=1
echo 'no number is no limit:'
under word env SLURM_CPUS_PER_TASK=1x | cmp - threads
say 'same bytes' eval 'cmp all one && cmp all slurm && cmp all word'
# A requested number of threads is started.
SLURM_CPUS_PER_TASK=1 taskset -c "$cpu" "$RANKWOOD" train train.txt --rounds 3 --leaves 7 --device cpu --threads 3 --quiet --plan |
    grep '^threads'
