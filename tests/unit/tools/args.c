#include "tools/args.h"

#include "src/base/mem.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct front {
    char *output, *config;
    bool json;
    qh_text_list expect;
} front;

typedef struct model {
    int64_t layers;
    char *bits;
} model;

static const qh_option front_table[] = {
    {"output", QH_OPT_TEXT, offsetof(front, output), .value = "FILE"},
    {"config", QH_OPT_TEXT, offsetof(front, config), .value = "FILE.yaml"},
    {"json", QH_OPT_FLAG, offsetof(front, json), .help = NULL},
    {"expect", QH_OPT_LIST, offsetof(front, expect), .help = NULL},
    {0}};
static const qh_option model_table[] = {
    {"layers", QH_OPT_INT, offsetof(model, layers), .def = 3, .min = 1, .max = 9, .value = "N"},
    {"bits", QH_OPT_TEXT, offsetof(model, bits), .def_text = "2,4,8"},
    {0}};

static front f;
static model m;
static qh_arg_set sets[] = {{front_table, &f}, {model_table, &m}};
static qh_args args = {.set = sets, .n_sets = 2};

static void begin(void)
{
    f = (front){0};
    m = (model){0};
    ck_assert_int_eq(qh_args_default(&args), QH_OK);
}

static void end(void)
{
    qh_args_free(&args);
}

/* Splits words at blanks. */
static int split(char *text, char **argv)
{
    int n = 0;

    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[n++] = word;
    return n;
}

/* error NULL: then what the settings hold, one text for all. */
static const struct {
    const char *words, *holds, *error;
} lines[] = {
    {"", "- 0 0 3 2,4,8 :", NULL},
    {"graph.qhd", "- 0 0 3 2,4,8 :graph.qhd,", NULL},
    {"--layers 5 graph.qhd", "- 0 0 5 2,4,8 :graph.qhd,", NULL},
    {"graph.qhd --layers=5", "- 0 0 5 2,4,8 :graph.qhd,", NULL},
    {"--layers=5 --layers 6", "- 0 0 6 2,4,8 :", NULL},
    {"--json a b", "- 1 0 3 2,4,8 :a,b,", NULL},
    {"--json=false", "- 0 0 3 2,4,8 :", NULL},
    {"-o x.qhd", "x.qhd 0 0 3 2,4,8 :", NULL},
    {"--output=", " 0 0 3 2,4,8 :", NULL},
    {"--output - -", "- 0 0 3 2,4,8 :-,", NULL},
    {"--expect a<1 --expect=b=2", "- 0 2 3 2,4,8 :", NULL},
    {"-- --layers -x", "- 0 0 3 2,4,8 :--layers,-x,", NULL},
    {"--bits -4", "- 0 0 3 -4 :", NULL},
    {"--layers", "", "--layers: its value is missing; --layers N is wanted"},
    {"--layers --json", "", "--layers: its value is missing"},
    {"--layers=x", "", "--layers: 'x' is not a whole number"},
    {"--layers 10", "", "--layers: 10 is out of range; 1 to 9 is allowed"},
    {"--json=maybe", "", "--json: 'maybe' is neither true nor false"},
    {"--layrs 5", "", "--layrs: there is no such option; did you mean --layers?"},
    {"--layrs=5", "", "--layrs: there is no such option; did you mean --layers?"},
    {"--jsn", "", "--jsn: there is no such option; did you mean --json?"},
    {"--frobnicate", "", "--frobnicate: there is no such option; --help lists"},
    {"-x", "", "-x: options are written with two dashes"},
    {"-ox", "", "-ox: options are written with two dashes"},
};

static void describe(char *text, size_t room)
{
    int n = snprintf(text, room, "%s %d %d %d %s :", f.output ? f.output : "-", f.json,
                     (int)f.expect.n, (int)m.layers, m.bits);

    for (int i = 0; i < args.n_operands; i++)
        n += snprintf(text + n, room - (size_t)n, "%s,", args.operand[i]);
}

START_TEST(command_lines)
{
    char words[128], *argv[16], text[256];
    int argc = split(strcpy(words, lines[_i].words), argv);
    qh_status st = qh_args_scan(&args, argc, argv, qh_args_store, &args);

    if (lines[_i].error) {
        ck_assert_int_eq(st, QH_EUSAGE);
        ck_assert_msg(strstr(qh_error_text(), lines[_i].error) == qh_error_text(), "%s",
                      qh_error_text());
    } else {
        ck_assert_int_eq(st, QH_OK);
        describe(text, sizeof text);
        ck_assert_str_eq(text, lines[_i].holds);
    }
}
END_TEST

/* %s in an error stands for the file. */
static const struct {
    const char *yaml, *holds, *error;
} files[] = {
    {"layers: 5\njson: true\n", "- 1 0 5 2,4,8 :", NULL},
    {"{layers: 5, output: x.qhd}\n", "x.qhd 0 0 5 2,4,8 :", NULL},
    {"bits: [1, 2, 4]\n", "- 0 0 3 1,2,4 :", NULL},
    {"expect:\n  - a<1\n  - b>2\n", "- 0 2 3 2,4,8 :", NULL},
    {"expect: a<1\n", "- 0 1 3 2,4,8 :", NULL},
    {"output: x\nlayrs: 5\n", "", ":2: the key 'layrs' is unknown; did you mean 'layers'?"},
    {"layers: 5\nlayers: 6\n", "", ":2: 'layers' stands here again"},
    {"output: x\nlayers: many\n", "", ":2: 'many' is not a whole number"},
    {"layers: {a: 1}\n", "", ":1: layers is a mapping; a single value is wanted"},
    {"expect: [[a]]\n", "", ":1: expect is a list; a single value is wanted"},
    {"config: other.yaml\n", "", ":1: a configuration names no other"},
    {"- layers\n", "", ":1: KEY: VALUE lines are wanted here"},
    {"", "", ":1: holds nothing"},
};

START_TEST(configuration_files)
{
    char path[] = "/tmp/qhalo-config-XXXXXX", text[256];
    FILE *out = fdopen(mkstemp(path), "w");
    qh_status st;

    fputs(files[_i].yaml, out);
    fclose(out);
    args.n_operands = 0;
    st = qh_args_scan_file(&args, path, qh_args_store, &args);
    unlink(path);
    if (files[_i].error) {
        ck_assert_int_eq(st, QH_EUSAGE);
        ck_assert_int_eq(strncmp(qh_error_text(), path, strlen(path)), 0);
        ck_assert_msg(strstr(qh_error_text(), files[_i].error) == qh_error_text() + strlen(path),
                      "%s", qh_error_text());
    } else {
        ck_assert_msg(st == QH_OK, "%s", qh_error_text());
        describe(text, sizeof text);
        ck_assert_str_eq(text, files[_i].holds);
    }
}
END_TEST

START_TEST(a_configuration_that_is_not_there_is_wrong_usage)
{
    ck_assert_int_eq(qh_args_scan_file(&args, "/no/such.yaml", qh_args_store, &args), QH_EUSAGE);
    ck_assert_str_eq(qh_error_text(),
                     "--config: /no/such.yaml: cannot be read: No such file or directory");
}
END_TEST

static const struct {
    int given, wanted;
    const char *names, *error;
} operands[] = {
    {0, 0, "", NULL},
    {1, 1, "DATASET", NULL},
    {0, 1, "DATASET", "cmd: DATASET is missing; qhalo cmd --help says more"},
    {1, 2, "info|synth DATASET", "cmd: DATASET is missing; qhalo cmd --help says more"},
    {0, 2, "info|synth DATASET", "cmd: info|synth is missing; qhalo cmd --help says more"},
    {2, 1, "DATASET", "cmd: 'b' is one word too many; DATASET is wanted"},
    {1, 0, "", "cmd: 'a' is one word too many; no operand is wanted"},
};

START_TEST(numbers_of_operands)
{
    qh_args a = {.operand = {"a", "b"}, .n_operands = operands[_i].given};
    qh_status st = qh_args_want(&a, "cmd", operands[_i].wanted, operands[_i].names);

    if (!operands[_i].error) {
        ck_assert_int_eq(st, QH_OK);
    } else {
        ck_assert_int_eq(st, QH_EUSAGE);
        ck_assert_str_eq(qh_error_text(), operands[_i].error);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("args");
    TCase *t = tcase_create("args");

    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, command_lines, 0, QH_COUNT(lines));
    tcase_add_loop_test(t, configuration_files, 0, QH_COUNT(files));
    tcase_add_test(t, a_configuration_that_is_not_there_is_wrong_usage);
    tcase_add_loop_test(t, numbers_of_operands, 0, QH_COUNT(operands));
    suite_add_tcase(s, t);
    return s;
}
