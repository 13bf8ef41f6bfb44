/* Manifests. 'train --manifest' writes one. `rankwood verify` repeats the training that it
 * describes, and compares data and model. It makes the line of 'train' from the manifest, and runs
 * it without writing a model. */
#include <unistd.h>

#include "cli/cli.h"

static struct rw_list data_files, valid_files, line;
static const char *init_path, *threads, *device;
static int is_quiet;
static const struct rw_option options[] = {
    {"data", "DATA",
     "files of the training set, with commas between them, instead of those of the "
     "manifest",
     RW_OPTION_INPUTS, .value = &data_files},
    {"valid", "DATA",
     "validation set, as in 'train', instead of those of the manifest (repeatable)",
     RW_OPTION_INPUT_SETS, .value = &valid_files},
    {"init", "MODEL", "model that the training continued, instead of that of the manifest",
     RW_OPTION_INPUT, .value = &init_path},
    {"threads", "N|auto", "number of threads, which does not change the model [default: auto]",
     RW_OPTION_TEXT, .value = &threads},
    {"device", "auto|cpu|cuda|cuda:N", "device to train on, which does not change the model",
     RW_OPTION_TEXT, .value = &device},
    {"quiet", NULL, "print no messages of the training except warnings and errors", RW_OPTION_FLAG,
     .value = &is_quiet},
    {0},
};

/* ---- the manifest of a training ---- */

void rw_record_begin(const struct rw_cli *cli, struct rw_record *record, struct rw_params *used)
{
    if (!record->path && !record->expected)
        return;
    int status = rw_manifest_new(cli->ctx, record->given, used, cli->init, &record->text);
    if (status >= 0 && record->expected)
        status = rw_manifest_compare(cli->ctx, record->expected, record->text, &record->difference);
    record->code = status < 0 ? rw_msg_failed(cli->ctx, status, "train") : 0;
}

int rw_record_end(struct rw_cli *cli, struct rw_record *record, json_t *files)
{
    char *text = NULL;
    const char *name;
    json_t *value;
    if (!record->path && !record->expected)
        return 0;
    RW_STEP(rw_manifest_finish(cli->ctx, record->text, cli->model, &text));
    rw_free(record->text);
    record->text = text;
    if (!record->path)
        return 0;
    json_t *document = json_loads(text, 0, NULL), *data = json_object_get(document, "data");
    json_object_foreach(files, name, value)
    {
        json_t *of = json_object_get(strcmp(name, "init") == 0 ? document : data, name);
        json_object_set(of ? of : document, of ? "files" : name, value);
    }
    errno = 0;
    const int failed = json_dumpf(document, record->out.file, JSON_INDENT(2)) != 0 ||
                       fputc('\n', record->out.file) == EOF;
    const int why = errno ? errno : EIO;
    json_decref(document);
    if (failed)
        return rw_msg_errno(why, "cannot write '%s'", record->path);
    return rw_out_file_commit(cli->ctx, &record->out);
}

/* ---- the line of 'train' ---- */

/* Returns a path of the manifest, in the manifest's folder if the file is only there. */
static const char *find_file(const struct rw_cli *cli, const char *path)
{
    const char *name = cli->operands.text[0], *slash = strrchr(name, '/');
    const char *near =
        rw_text("%.*s%s", slash ? (int)(slash + 1 - name) : 0, slash ? name : "", path);
    return *path == '/' || access(path, F_OK) == 0 || access(near, F_OK) != 0 ? path : near;
}

/* Adds a parameter of the manifest. Other options are refused, because they could write files. */
static int add_parameter(const struct rw_cli *cli, const char *name, const char *value)
{
    int at = 0;
    while (rw_param_info(at) && strcmp(rw_param_info(at)->name, name) != 0)
        at++;
    const int status = rw_params_set(cli->ctx, cli->params, name, value);
    if (!rw_param_info(at))
        return status;
    const int is_file = status >= 0 && rw_params_file(cli->params, at);
    rw_list_add(&line, rw_text("--%s=%s", name, is_file ? find_file(cli, value) : value));
    return 0;
}

/* Returns the files of a set with commas between them: those of the line, else of the manifest. */
static const char *files_of(const struct rw_cli *cli, const json_t *files,
                            const struct rw_list *given)
{
    const json_t *list = json_object_get(files, "data");
    struct rw_list found = {NULL, 0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *path = json_string_value(json_array_get(list, i));
        if (path && strcmp(path, "-") != 0)
            rw_list_add(&found, find_file(cli, path));
    }
    return given->n ? rw_joined(given) : found.n ? rw_joined(&found) : NULL;
}

/* Adds a validation set, with the files of its side columns. */
static int add_valid(const struct rw_cli *cli, const json_t *files, int number)
{
    static const char *const sides[] = {"weights", "query-weights", "start-scores"};
    const struct rw_list given = {valid_files.n ? valid_files.text + number - 1 : NULL,
                                  valid_files.n ? 1 : 0};
    const char *set = files_of(cli, files, &given);
    if (!set)
        return rw_wrong(cli,
                        "the manifest does not name the files of validation set %d: pass them "
                        "with '--valid'",
                        number);
    rw_list_add(&line, rw_text("--valid=%s", set));
    for (size_t k = 0; k < sizeof(sides) / sizeof(*sides); k++) {
        const char *path = json_string_value(json_object_get(files, sides[k]));
        rw_list_add(&line,
                    rw_text("--valid-%s=%s", sides[k], path ? find_file(cli, path) : "none"));
    }
    return 0;
}

/* Makes the line of 'train'. */
static int make_line(const struct rw_cli *cli, const json_t *document)
{
    static const char *const splits[] = {"split-time", "fold-by"};
    const json_t *data = json_object_get(document, "data"), *set;
    json_t *value;
    const char *name;
    const char *train =
        files_of(cli, json_object_get(json_object_get(data, "train"), "files"), &data_files);
    if (!train)
        return rw_wrong(cli, "the manifest does not name the files of the training set: pass them "
                             "with '--data'");
    const struct rw_list files = rw_list_of(train);
    rw_list_add(&line, "train");
    for (size_t i = 0; i < sizeof(splits) / sizeof(*splits); i++) {
        const char *split = json_string_value(json_object_get(document, splits[i]));
        if (split)
            rw_list_add(&line, rw_text("--%s=%s", splits[i], find_file(cli, split)));
    }
    int n = 0;
    while (!json_object_get(document, "split-time") &&
           (set = json_object_get(data, rw_text("valid%d", n + 1))) != NULL)
        RW_STEP(add_valid(cli, json_object_get(set, "files"), ++n));
    if (valid_files.n && valid_files.n != n)
        return rw_wrong(cli, "%d of '--valid'; expected %d, as in the manifest", valid_files.n, n);
    const json_t *start = json_object_get(document, "init");
    const char *model = json_string_value(json_object_get(start, "files"));
    if (start && !init_path && !model)
        return rw_wrong(cli, "the manifest does not name the model that the training continued: "
                             "pass it with '--init'");
    if (start)
        rw_list_add(&line, rw_text("--init=%s", init_path ? init_path : find_file(cli, model)));
    json_object_foreach(json_object_get(document, "given"), name, value)
        RW_STEP(add_parameter(cli, name, json_is_string(value) ? json_string_value(value) : ""));
    if (threads)
        rw_list_add(&line, rw_text("--threads=%s", threads));
    if (device)
        rw_list_add(&line, rw_text("--device=%s", device));
    if (is_quiet)
        rw_list_add(&line, "--quiet");
    rw_list_add(&line, "--"); /* a file's name is never an option */
    for (int i = 0; i < files.n; i++)
        rw_list_add(&line, files.text[i]);
    return 0;
}

/* Reads the manifest. Returns 0, or the exit code after an error message. */
static int read_manifest(const char *path, json_t **document)
{
    json_error_t error;
    errno = 0;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    *document = file ? json_loadf(file, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (!file || ferror(file))
        return rw_msg_errno(errno ? errno : EIO, "cannot read '%s'", path);
    if (file != stdin)
        fclose(file);
    if (*document)
        return 0;
    rw_msg_error("%s:%d: expected a manifest of 'train --manifest': %s", path, error.line,
                 error.text);
    return RW_EXIT_FAILURE;
}

static int run(struct rw_cli *cli)
{
    static json_t *document;
    static struct rw_record again;
    RW_STEP(read_manifest(cli->operands.text[0], &document));
    again.expected = json_dumps(document, 0);
    RW_STEP(rw_manifest_compare(cli->ctx, again.expected, again.expected, &again.difference));
    if (json_object_get(document, "functions"))
        return rw_wrong(cli, "the training used functions of Python, which only rankwood.verify "
                             "can repeat");
    RW_STEP(make_line(cli, document));
    rw_list_add(&line, NULL);
    RW_STEP(rw_train_again(line.n - 1, (char **)(uintptr_t)line.text, &again));
    if (!again.difference)
        RW_STEP(rw_manifest_compare(cli->ctx, again.expected, again.text, &again.difference));
    const json_t *model = json_object_get(document, "model");
    const char *checksum = json_string_value(json_object_get(model, "checksum"));
    rw_result_line(again.difference ? "different: %s" : "identical: the model has the checksum %s",
                   again.difference ? again.difference : checksum);
    rw_result_print(cli,
                    rw_result_row("identical:b difference:s", !again.difference, again.difference));
    return again.difference ? RW_EXIT_FAILURE : 0;
}

const struct rw_command rw_cmd_verify = {
    .name = "verify",
    .brief = "repeat a training from its manifest and compare the model",
    .operands = "MANIFEST",
    .about =
        "Repeats the training that a manifest describes ('train --manifest'), and compares data "
        "and model. The exit code is 0 if they are identical. Otherwise it is 1, and the line "
        "names the first difference of data, version, parameters and model. Files are searched "
        "where the manifest names them, then in its folder. Different data ends the training "
        "before its second round. Nothing is written.",
    .has_results = 1,
    .options = options,
    .run = run,
};
