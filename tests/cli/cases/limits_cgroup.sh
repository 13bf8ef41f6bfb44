# room: base
# Limits of a control group: 2 processors and 2 GB, then half a processor and little memory. Tests how many threads
# 'auto' starts, the available memory in a plan, and refusals. Skipped where this machine does not permit control
# groups.
# long
unset SLURM_CPUS_PER_TASK
not_here() {
    echo "$* here" >&2
    exit 77
}
[ "$(id -u)" = 0 ] || not_here "only root makes control groups, and the tests are not root's"

[ "${RANKWOOD_TEST_PATIENCE:-1}" = 1 ] || not_here "a program with sanitizers needs more memory than the limits allow"

# What follows is of limits that this makes, under none.
"$RANKWOOD" doctor --json | grep -q '"cgroup_[bp][a-z]*": [0-9]' && not_here "groups are limited already"

# folder_of CONTROLLER: of the group that this shell is in; sets $folder and $version
folder_of() {
    mount=$(awk -v c="$1" '$(NF - 2) == "cgroup" && index("," $NF ",", "," c ",") && $4 == "/" { print $5; exit }' /proc/self/mountinfo)
    version=1
    group=$(awk -F : -v c="$1" 'index("," $2 ",", "," c ",") { print $3; exit }' /proc/self/cgroup)
    if [ -z "$mount" ]; then
        mount=$(awk '$(NF - 2) == "cgroup2" && $4 == "/" { print $5; exit }' /proc/self/mountinfo)
        version=2
        group=$(sed -n 's/^0:://p' /proc/self/cgroup)
    fi
    folder=${group%/}
    folder=$mount$folder
    [ -n "$mount" ] && [ -d "$folder" ] || not_here "no control groups for '$1'"
}
made=
trap 'for folder in $made; do rmdir "$folder"; done' EXIT
# make CONTROLLER FILE: a group below; FILE must be in it
make() {
    folder_of "$1"
    folder=$folder/rankwood-test-$$
    case " $made " in
    *" $folder "*) ;;
    *)
        mkdir "$folder" 2>error || not_here "no control group can be made"
        made="$made $folder"
        ;;
    esac
    [ -w "$folder/$2" ] || [ -w "$folder/$3" ] || not_here "groups of '$1' are not to be limited"
}
make cpu cpu.max cpu.cfs_quota_us
cpu=$folder cpu_version=$version
make memory memory.max memory.limit_in_bytes
memory=$folder memory_version=$version
limit() { # MICROSECONDS OF 100000, BYTES
    if [ "$cpu_version" = 2 ]; then echo "$1 100000" >"$cpu/cpu.max"; else echo "$1" >"$cpu/cpu.cfs_quota_us"; fi &&
        if [ "$memory_version" = 2 ]; then echo "$2" >"$memory/memory.max"; else echo "$2" >"$memory/memory.limit_in_bytes"; fi ||
        not_here "limits are refused"
}
# The program within the groups.
within() {
    sh -c 'echo $$ >"$1/cgroup.procs" && echo $$ >"$2/cgroup.procs" && shift 2 && exec "$@"' within "$cpu" "$memory" "$RANKWOOD" "$@"
}

small_data
"$RANKWOOD" train train.txt --valid valid.txt.gz --rounds 5 --leaves 15 --device cpu --quiet -o whole || exit 1
least() { # the smaller of the group's memory and the machine's
    if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi
}
threads=$("$RANKWOOD" train train.txt --rounds 3 --leaves 7 --device cpu --quiet --plan | awk '$1 == "threads" { print $2 }')
check() { # THREADS BYTES
    within train train.txt --rounds 3 --leaves 7 --device cpu --quiet --plan >plan
    say threads test "$(awk '$1 == "threads" { print $2 }' plan)" = "$(least "$1" "$threads")"
    say available test "$(awk '$1 == "available" { print $2 }' plan)" -le "$2"
    within train train.txt --valid valid.txt.gz --rounds 5 --leaves 15 --device cpu --quiet -o limited --log log
    say 'same bytes' cmp whole limited
}
echo '2 processors, 2 GB'
limit 200000 2000000000
check 2 2000000000
within doctor --json >found || echo "doctor: exit $?"
say 'doctor: processors' grep -q '"cgroup_processors": 2\.0,$' found
say 'doctor: their file' grep -q "\"cgroup_file\": \"$cpu/cpu\.[a-z_]*\",$" found
say 'doctor: memory' eval 'test "$(sed -n "s/^  \"cgroup_bytes\": \([0-9]*\),$/\1/p" found)" -le 2000000000'
say 'doctor: its file' grep -q "\"cgroup_file\": \"$memory/memory\.[a-z_]*\",$" found
echo 'one and a half'
limit 150000 2000000000
check 2 2000000000
echo 'half a processor, 40 MB'
limit 50000 40000000
check 1 40000000
# Insufficient memory is reported before any allocation: the cache is read into memory as a whole.
"$RANKWOOD" synth --shape mslr30k --queries 400 --seed 1 -o large.rwb 2>made
[ "$(wc -c <large.rwb)" -gt 20000000 ] || echo "the cache is too small"
limit 50000 20000000
within check large.rwb --quiet >out 2>err
echo "exit $?"
sed 's/[0-9.]* MB/N MB/g; s,under /.*/memory\.,under memory.,; s/limit_in_bytes/max/' err
# A plan that does not fit is printed, and fails.
within train large.rwb --rounds 1 --leaves 1000 --min-docs 1 --device cpu --quiet --plan >plan 2>err
echo "exit $?"
grep -c '^total' plan
sed 's/[0-9.]* MB/N MB/g' err
