/* Option tables: one row a setting gives the command-line flag, the configuration key, the help
 * line, the range check and the stored value. */
#ifndef QH_BASE_OPTIONS_H
#define QH_BASE_OPTIONS_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum qh_option_type {
    QH_OPT_END = 0, /* closes a table */
    QH_OPT_FLAG,    /* bool; takes no value, or true|false in a file */
    QH_OPT_INT,     /* int64_t in [min, max] */
    QH_OPT_REAL,    /* double in [min, max] */
    QH_OPT_CHOICE,  /* int: index of the value in choices, "a|b|c" */
    QH_OPT_TEXT,    /* char *, owned by the settings, NULL when not given */
    QH_OPT_LIST     /* qh_text_list: the flag may be repeated */
} qh_option_type;

typedef struct qh_text_list {
    char **item; /* owned, and each text too */
    int64_t n;
} qh_text_list;

typedef struct qh_option {
    const char *name; /* without dashes */
    qh_option_type type;
    size_t offset;        /* of the field in the settings */
    double min, max;      /* INT, REAL; equal: no limits */
    double def;           /* INT, REAL, CHOICE (index), FLAG */
    const char *def_text; /* TEXT; NULL: none */
    const char *choices;  /* CHOICE */
    const char *value;    /* what the value is called in the help: "N", "NAME|FILE" */
    const char *help;
    const char *group; /* a heading in the help, on the first option of a group */
} qh_option;

/* Writes the defaults of all options into settings (zeroed by the caller). QH_ERESOURCE. */
qh_status qh_options_default(const qh_option *table, void *settings);

/* Frees what texts and lists hold. */
void qh_options_free(const qh_option *table, void *settings);

/* Parses text into the option called name. where is "--name" or "file:line", for errors. An
 * unknown name: QH_EUSAGE, with the closest known one ("did you mean --layers?"). text NULL: a flag
 * without value. */
qh_status qh_options_set(const qh_option *table, void *settings, const char *where,
                         const char *name, const char *text);

/* NULL when there is none of that name. */
const qh_option *qh_options_find(const qh_option *table, const char *name);

/* The value as qh_options_set would read it, into a text the caller frees; lists joined by ','.
 * "" for a TEXT that was not given. */
qh_status qh_options_print(const qh_option *option, const void *settings, char **out);

/* One line an option: flag, value, help, default. */
void qh_options_help(const qh_option *table, FILE *out);

/* The name of names[0..n-1] closest to word, or NULL when none is close (edit distance,
 * whatever the case of letters, <= 1/3 of its length, at least 1). */
const char *qh_did_you_mean(const char *word, const char *const *names, int64_t n);

#endif
