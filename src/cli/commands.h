/* The commands. To add one: write cmd_<name>.c, declare it here, give it a row in main.c's table
 * and a section in docs/rankwood.1. */
#ifndef RW_CLI_COMMANDS_H
#define RW_CLI_COMMANDS_H

/* argv[0] is the command's name; returns the exit code. */
int rw_cmd_synth(int argc, char **argv);
int rw_cmd_bin(int argc, char **argv);
int rw_cmd_train(int argc, char **argv);
int rw_cmd_predict(int argc, char **argv);
int rw_cmd_eval(int argc, char **argv);
int rw_cmd_compare(int argc, char **argv);
int rw_cmd_cv(int argc, char **argv);
int rw_cmd_check(int argc, char **argv);
int rw_cmd_info(int argc, char **argv);
int rw_cmd_show(int argc, char **argv);
int rw_cmd_explain(int argc, char **argv);
int rw_cmd_report(int argc, char **argv);
int rw_cmd_export(int argc, char **argv);
int rw_cmd_import(int argc, char **argv);
int rw_cmd_bench(int argc, char **argv);

#endif
