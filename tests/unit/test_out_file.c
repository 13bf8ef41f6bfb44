#include "scratch_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(out_file, .init = scratch_begin, .fini = scratch_end);

static int n_files(void)
{
    DIR *folder = opendir(".");
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

static void assert_holds(const char *path, const char *expected)
{
    size_t n;
    char *text = scratch_read(path, &n);
    cr_assert_str_eq(text, expected);
    free(text);
}

Test(out_file, appears_whole)
{
    struct rw_out_file out;
    scratch_text("a", "old");
    cr_assert_eq(chmod("a", 0640), 0);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "a"), RW_OK);
    fputs("new", out.file);
    fflush(out.file);
    assert_holds("a", "old");
    cr_assert_eq(n_files(), 2);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
    rw_out_file_abandon(&out);
    assert_holds("a", "new");
    cr_assert_eq(n_files(), 1);
    struct stat info;
    stat("a", &info);
    cr_assert_eq(info.st_mode & 0777, 0640, "a file that is replaced keeps its mode");
}

Test(out_file, keeps_the_owner)
{
    struct rw_out_file out;
    struct stat info;
    if (geteuid() != 0)
        cr_skip_test("only root can give files away");
    scratch_text("a", "old");
    cr_assert_eq(chown("a", 12345, 54321), 0);
    cr_assert_eq(chmod("a", 0640), 0);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "a"), RW_OK);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
    cr_assert_eq(stat("a", &info), 0);
    cr_assert_eq(info.st_uid, 12345);
    cr_assert_eq(info.st_gid, 54321);
    cr_assert_eq(info.st_mode & 0777, 0640);
}

/* Temporary names are as long as the file system allows, and are found when they are left over. */
Test(out_file, long_names)
{
    static const int lengths[] = {239, 240, 241, 250, 254, 255};
    struct rw_out_file out;
    char name[512];
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        memset(name, 'n', sizeof(name));
        for (int k = 0; k + 1 < lengths[i]; k += 2) /* two bytes a character */
            memcpy(name + k, "\xc3\xa9", 2);
        name[lengths[i]] = 0;
        cr_assert_eq(rw_out_file_open(scratch_ctx, &out, name), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        char *left = strdup(out.temporary);
        cr_assert_leq(strlen(left), 255);
        const char *mark = strstr(left, ".tmp-");
        cr_assert_neq((unsigned char)mark[-1], 0xc3, "a character is cut");
        cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
        scratch_text(left, "of a process that was killed");
        cr_assert_eq(rw_out_file_open(scratch_ctx, NULL, name), RW_OK);
        cr_assert_eq(access(left, F_OK), -1, "%d bytes", lengths[i]);
        assert_holds(name, "");
        /* the same name with a suffix */
        cr_assert_eq(rw_out_file_open(scratch_ctx, &out, name), RW_OK);
        cr_assert_eq(rw_out_file_rename(scratch_ctx, &out, ".interrupted"), RW_OK);
        cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert_eq(n_files(), 2);
        cr_assert_eq(system("rm -f -- *"), 0);
        free(left);
    }
}

Test(out_file, same_file)
{
    scratch_text("a", "");
    scratch_text("b", "");
    cr_assert_eq(mkdir("folder", 0700), 0);
    cr_assert_eq(symlink("a", "link"), 0);
    cr_assert_eq(link("a", "hard"), 0);
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    static const char *const same[][2] = {
        {"a", "a"},    {"a", "./a"},   {"a", "folder/../a"}, {"a", "link"},
        {"a", "hard"}, {"new", "new"}, {"new", "./new"},     {"folder/new", "./folder//new"}};
    static const char *const apart[][2] = {
        {"a", "b"},          {"a", "new"},     {"new", "folder/new"}, {"-", "-"},
        {"a", "-"},          {"pipe", "pipe"}, {"no/new", "no/new"},  {"/dev/null", "/dev/null"},
        {"folder", "folder"}};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        cr_assert(rw_same_file(same[i][0], same[i][1]), "%s %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
        cr_assert_not(rw_same_file(apart[i][0], apart[i][1]), "%s %s", apart[i][0], apart[i][1]);
}

/* A call does not overwrite its own input. */
Test(out_file, a_cache_of_itself)
{
    const char *const paths[] = {"data", "more"};
    struct rw_params *params;
    scratch_text("data", "1 qid:1 1:2\n0 qid:1 1:3\n");
    scratch_text("more", "1 qid:2 1:2\n0 qid:2 1:3\n");
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_cache_files(scratch_ctx, params, paths, 2, "./more"), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "'./more' is an input, and cannot be the output too");
    assert_holds("more", "1 qid:2 1:2\n0 qid:2 1:3\n");
    rw_params_free(params);
}

/* With standard error closed, a file does not become it. */
Test(out_file, closed_descriptors)
{
    struct rw_out_file out;
    for (int closed = 0; closed <= 2; closed++) {
        const int kept = fcntl(closed, F_DUPFD_CLOEXEC, 10);
        close(closed);
        const int opened = rw_out_file_open(scratch_ctx, &out, "a");
        const int number = opened == RW_OK ? fileno(out.file) : -1;
        dup2(kept, closed);
        close(kept);
        cr_assert_gt(number, 2, "%d", closed);
        cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
    }
}

Test(out_file, abandoned_leaves_nothing)
{
    struct rw_out_file out;
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "a"), RW_OK);
    fputs("new", out.file);
    rw_out_file_abandon(&out);
    rw_out_file_abandon(&out);
    cr_assert_eq(n_files(), 0);
}

Test(out_file, two_at_once)
{
    struct rw_out_file one, two;
    cr_assert_eq(rw_out_file_open(scratch_ctx, &one, "a"), RW_OK);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &two, "a"), RW_OK);
    fputs("one", one.file);
    fputs("two", two.file);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &two), RW_OK);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &one), RW_OK);
    assert_holds("a", "one");
    cr_assert_eq(n_files(), 1);
}

Test(out_file, refused_before_work_is_done)
{
    struct rw_out_file out;
    cr_assert_eq(mkdir("folder", 0700), 0);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "folder"), RW_ERR_IO);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "cannot write 'folder': Is a directory");
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "no/where"), RW_ERR_IO);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "cannot write 'no/where': No such file or directory");
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "folder/"), RW_ERR_IO);
    cr_assert_eq(n_files(), 1);
}

Test(out_file, full_disk)
{
    struct rw_out_file out;
    if (access("/dev/full", W_OK) != 0)
        cr_skip_test("no /dev/full");
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "/dev/full"), RW_OK);
    for (int i = 0; i < 100000; i++)
        fputs("more than one buffer", out.file);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_ERR_MACHINE);
    cr_assert_not_null(strstr(rw_last_error(scratch_ctx), "cannot write '/dev/full': "));
    struct stat info;
    cr_assert_eq(stat("/dev/full", &info), 0);
    cr_assert(S_ISCHR(info.st_mode), "a device is not replaced by a file");
}

/* Nothing is left to write, and errno is of another call. */
static void expect_earlier(struct rw_out_file *out, const char *message, int status)
{
    setvbuf(out->file, NULL, _IONBF, 0);
    for (int i = 0; i < 5000; i++)
        fputs("x", out->file);
    errno = ENOTTY;
    cr_assert_eq(rw_out_file_commit(scratch_ctx, out), status);
    cr_assert_str_eq(rw_last_error(scratch_ctx), message);
}

Test(out_file, why_an_earlier_write_failed)
{
    struct rw_out_file out;
    const struct rlimit most = {4096, 4096};
    if (access("/dev/full", W_OK) == 0) {
        cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "/dev/full"), RW_OK);
        expect_earlier(&out, "cannot write '/dev/full': No space left on device", RW_ERR_MACHINE);
    }
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "a"), RW_OK);
    expect_earlier(&out, "cannot write 'a': File too large", RW_ERR_IO);
    cr_assert_eq(n_files(), 0);
}

Test(out_file, a_link_stays_a_link)
{
    struct rw_out_file out;
    scratch_text("real", "old");
    cr_assert_eq(symlink("real", "link"), 0);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "link"), RW_OK);
    fputs("new", out.file);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
    assert_holds("real", "new");
    struct stat info;
    lstat("link", &info);
    cr_assert(S_ISLNK(info.st_mode));
}

Test(out_file, a_check_leaves_nothing)
{
    cr_assert_eq(rw_out_file_open(scratch_ctx, NULL, "a"), RW_OK);
    cr_assert_eq(rw_out_file_open(scratch_ctx, NULL, "no/where"), RW_ERR_IO);
    cr_assert_eq(rw_out_file_open(scratch_ctx, NULL, "."), RW_ERR_IO);
    cr_assert_eq(rw_out_file_open(scratch_ctx, NULL, "/dev/full"), RW_OK);
    cr_assert_eq(n_files(), 0);
}

Test(out_file, reserved_space_is_released)
{
    struct rw_out_file out;
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "a"), RW_OK);
    cr_assert_eq(rw_out_file_reserve(scratch_ctx, &out, 1 << 20), RW_OK);
    fputs("new", out.file);
    cr_assert_eq(rw_out_file_rename(scratch_ctx, &out, ".kept"), RW_OK);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
    assert_holds("a.kept", "new");
    cr_assert_eq(n_files(), 1);
}

Test(out_file, a_signal_removes_temporary_files)
{
    struct rw_out_file one, two;
    char name[64];
    scratch_text("other", "a file that is finished");
    snprintf(name, sizeof(name), "b.tmp-%ld", (long)getpid());
    scratch_text(name, "somebody else's");
    const int writer = open(name, O_WRONLY);
    cr_assert_eq(flock(writer, LOCK_EX), 0);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &one, "a"), RW_OK);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &two, "b"), RW_OK);
    cr_assert_eq(n_files(), 4);
    rw_out_file_abandon(NULL);
    cr_assert_eq(n_files(), 2);
    rw_out_file_abandon(&one);
    rw_out_file_abandon(&two);
    close(writer);
    assert_holds(name, "somebody else's");
}

/* Files of processes that have ended are removed; files being written and all others stay. */
Test(out_file, swept)
{
    struct rw_out_file out;
    static const char *const left[] = {"a.tmp-1", "a.tmp-77-3"};
    static const char *const others[] = {"a.tmp-",
                                         "a.tmp-x1",
                                         "ab.tmp-1",
                                         "b.tmp-1",
                                         "a",
                                         "xa.tmp-1",
                                         "a.tmp-0",
                                         "a.tmp-01",
                                         "a.tmp-1-",
                                         "a.tmp-1-0",
                                         "a.tmp-1-100",
                                         "a.tmp-1-2-3",
                                         "a.tmp-20240101",
                                         "a.tmp--1",
                                         "a.tmp-1x",
                                         "a.tmp-1-2x",
                                         "a.tmp-99999999999999999999999"};
    char wanted[80];
    for (size_t i = 0; i < 2; i++)
        scratch_text(left[i], "left");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        scratch_text(others[i], "stays");
    cr_assert_eq(symlink("b.tmp-1", "a.tmp-5"), 0); /* not made by this program */
    cr_assert_eq(mkfifo("a.tmp-6", 0666), 0);
    const int reader = open("a.tmp-6", O_RDONLY | O_NONBLOCK); /* now it can be written to */
    cr_assert_eq(mkfifo("a.tmp-7", 0666), 0);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "a"), RW_OK);
    for (size_t i = 0; i < 2; i++) { /* gone when the next is opened */
        cr_assert_neq(access(left[i], F_OK), 0, "%s", left[i]);
        scratch_text(left[i], "left");
    }
    fputs("new", out.file);
    snprintf(wanted, sizeof(wanted), "%s/a", scratch_folder);
    cr_assert_eq(rw_out_file_open(scratch_ctx, NULL, wanted), RW_OK);
    cr_assert_eq(access(out.temporary, F_OK), 0, "what is being written");
    for (size_t i = 0; i < 2; i++)
        cr_assert_neq(access(left[i], F_OK), 0, "%s", left[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        cr_assert_eq(access(others[i], F_OK), 0, "%s", others[i]);
    cr_assert_eq(access("a.tmp-6", F_OK), 0);
    cr_assert_eq(access("a.tmp-7", F_OK), 0);
    close(reader);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
    assert_holds("a", "new");
    cr_assert_eq(mkdir("d", 0777), 0);
    cr_assert_eq(chdir("d"), 0);
    scratch_text("../c.tmp-9", "left");
    cr_assert_eq(symlink("../c", "link"), 0);
    scratch_text("../c", "old");
    cr_assert_eq(rw_out_file_open(scratch_ctx, NULL, "link"), RW_OK);
    cr_assert_neq(access("../c.tmp-9", F_OK), 0, "beside what a link leads to");
}
