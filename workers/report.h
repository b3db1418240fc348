/* What the runner is told on its command line, and what it says: one JSON object a line. */
#ifndef TILEWRIGHT_REPORT_H
#define TILEWRIGHT_REPORT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

/* The last line of a run that did not crash. `outcome` is one of tuner.record.Outcome. */
static void end(const char *outcome, const char *format, ...) {
    char detail[512];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    for (char *c = detail; *c; c++)
        if (*c == '"' || *c == '\\' || *c < ' ') *c = '\'';
    say("{\"stage\": \"end\", \"outcome\": \"%s\", \"detail\": \"%s\"}", outcome, detail);
    _exit(0);
}

/* A fault of the worker, not of the candidate. */
static void fail(const char *what, const char *which) {
    say("{\"stage\": \"failed\", \"detail\": \"%s %s\"}", what, which);
    _exit(2);
}

static const char *text(int argc, char **argv, const char *key, const char *otherwise) {
    size_t n = strlen(key);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=') return argv[i] + n + 1;
    if (!otherwise) fail("the runner lacks its argument", key);
    return otherwise;
}

static double number(int argc, char **argv, const char *key, const char *otherwise) {
    return strtod(text(argc, argv, key, otherwise), NULL);
}

#endif
