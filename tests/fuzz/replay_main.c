/* Runs a fuzz target over saved inputs, with any compiler: files, or folders of files. Prints
 * the name before each, so that a crash shows the input; exit 1 if there was no input. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fuzz_input.h"

static long replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    uint8_t *data;

    if (!file || fstat(fileno(file), &info) != 0) {
        fprintf(stderr, "cannot read '%s'\n", path);
        exit(1);
    }
    /* Exactly as long as the input, so that a sanitizer sees a read past its end. */
    data = malloc(info.st_size > 0 ? (size_t)info.st_size : 1);
    if (!data || fread(data, 1, (size_t)info.st_size, file) != (size_t)info.st_size) {
        fprintf(stderr, "cannot read '%s'\n", path);
        exit(1);
    }
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, (size_t)info.st_size);
    free(data);
    return 1;
}

static long replay(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    long n = 0;
    char name[4096];

    if (!folder)
        return replay_file(path);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        n += replay_file(name);
    }
    closedir(folder);
    return n;
}

int main(int argc, char **argv)
{
    long n = 0;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(RLIMIT_AS)
    /* An allocation far larger than the input fails at once; filling it would take a minute. */
    const struct rlimit most = {1u << 30, 1u << 30};
    setrlimit(RLIMIT_AS, &most);
#endif
    for (int i = 1; i < argc; i++)
        n += replay(argv[i]);
    printf("%ld inputs\n", n);
    return n > 0 ? 0 : 1;
}
