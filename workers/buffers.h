/* A kernel's arguments: read from a spec, mapped between guard pages, compared with the reference. */
#ifndef TILEWRIGHT_BUFFERS_H
#define TILEWRIGHT_BUFFERS_H

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PARAMS 31
#define MAX_ARGUMENTS 40 /* with what is prepared and the workspace; a multiple of 8 */
#define SETS 2
#define GUARD_BYTES ((size_t)1 << 20)
#define PAGE_BYTES ((size_t)sysconf(_SC_PAGESIZE))
#define CANARY 0xa5

/* Where a buffer lies in its mapping. */
enum place {
    AT_END,  /* its last byte is the last before the guard */
    AT_START,/* one element after the guard */
    ALIGNED, /* to 64 bytes, each buffer at another offset in its page */
};

typedef struct {
    char kind[8]; /* "in"; "const": an input too; "out": compared; "save": written to its files */
    char name[64];
    char dtype[8];
    size_t bytes;
    int fd[SETS];               /* in: data; save: where it goes */
    const void *want[SETS];     /* out: f64 values, or raw elements where there is no tolerance */
    const double *allowed[SETS];/* out: largest absolute error; NULL: all bytes equal */
    unsigned char *map, *data;  /* the mapping with its guards, and the buffer in it */
    size_t room;                /* bytes between the guards */
} Param;

typedef struct {
    int count; /* of the kernel's own arguments, which come first */
    int all;   /* with memory that is handed in beside them; the last one is the workspace */
    Param param[MAX_PARAMS + 2];
} Params;

static size_t element_bytes(const Param *p) {
    if (strcmp(p->dtype, "bool") == 0 || p->dtype[1] == '8') return 1;
    if (strcmp(p->dtype, "bf16") == 0 || strcmp(p->dtype + 1, "16") == 0) return 2;
    return strcmp(p->dtype + 1, "32") == 0 ? 4 : 8;
}

static int is_input(const Param *p) {
    return strcmp(p->kind, "in") == 0 || strcmp(p->kind, "const") == 0;
}

static int is_float(const Param *p) { return p->dtype[0] == 'f' || p->dtype[1] == 'f'; }

static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                   : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                  : ldexp(mantissa, -24);
    return bits >> 15 ? -value : value;
}

static double float_value(const Param *p, size_t i) {
    if (strcmp(p->dtype, "f32") == 0) return ((const float *)(const void *)p->data)[i];
    if (strcmp(p->dtype, "f64") == 0) return ((const double *)(const void *)p->data)[i];
    uint16_t bits = ((const uint16_t *)(const void *)p->data)[i];
    if (p->dtype[0] == 'f') return half_value(bits);
    union { uint32_t bits; float value; } wide = {(uint32_t)bits << 16};
    return wide.value;
}

/* 0 where the mapping failed. The slack beside the buffer is filled with a canary. */
static int map_param(Param *p, enum place place, int index) {
    size_t shift = place == AT_START ? element_bytes(p) : 0;
    if (place == ALIGNED) shift = 192 * (size_t)(index % 20);
    p->room = (p->bytes + shift + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    p->map = mmap(NULL, p->room + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->map == MAP_FAILED) return 0;
    unsigned char *start = p->map + GUARD_BYTES;
    if (mprotect(start, p->room, PROT_READ | PROT_WRITE)) return 0;
#ifdef MADV_POPULATE_WRITE
    madvise(start, p->room, MADV_POPULATE_WRITE); /* one call in place of a fault for each page */
#endif
    p->data = place == AT_END ? start + p->room - p->bytes : start + shift;
    memset(start, CANARY, (size_t)(p->data - start));
    memset(p->data + p->bytes, CANARY, (size_t)(start + p->room - p->data) - p->bytes);
    return 1;
}

static int unmap_param(Param *p) { return munmap(p->map, p->room + 2 * GUARD_BYTES); }

/* Fill an input from its file and forbid writes; poison everything else. 0 where reading failed. */
static int fill_param(Param *p, int set) {
    if (!is_input(p)) {
        memset(p->data, is_float(p) ? 0xff : set ? 0x9d : 0x7f, p->bytes);
        return 1;
    }
    for (size_t done = 0; done < p->bytes;) {
        ssize_t n = pread(p->fd[set], p->data + done, p->bytes - done, (off_t)done);
        if (n <= 0) return 0;
        done += (size_t)n;
    }
    return mprotect(p->map + GUARD_BYTES, p->room, PROT_READ) == 0;
}

/* Has something written beside the buffer, where no guard page could see it? */
static int slack_touched(const Param *p) {
    const unsigned char *start = p->map + GUARD_BYTES, *end = start + p->room;
    for (const unsigned char *c = start; c < p->data; c++)
        if (*c != CANARY) return 1;
    for (const unsigned char *c = p->data + p->bytes; c < end; c++)
        if (*c != CANARY) return 1;
    return 0;
}

/* Largest |error| / allowed error of an output; *where is its element. Infinite where it must be
   equal and is not, or where only one of the two is NaN. */
static double worst_error(const Param *p, int set, size_t *where) {
    size_t size = element_bytes(p), count = p->bytes / size;
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double ratio = 0;
        if (!p->allowed[set]) {
            const unsigned char *want = p->want[set];
            if (memcmp(p->data + i * size, want + i * size, size) != 0) ratio = INFINITY;
        } else {
            double got = float_value(p, i), want = ((const double *)p->want[set])[i];
            double error = fabs(got - want), allowed = p->allowed[set][i];
            if (got == want || (isnan(got) && isnan(want))) continue;
            ratio = allowed > 0 ? error / allowed : INFINITY;
            if (!(ratio < INFINITY)) ratio = INFINITY; /* NaN too */
        }
        if (ratio > worst) worst = ratio, *where = i;
    }
    return worst;
}

static int open_file(const char *name, int save, size_t bytes, int *fd) {
    struct stat info;
    *fd = open(name, save ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0600);
    return *fd >= 0 && !fstat(*fd, &info) && (save || (size_t)info.st_size >= bytes);
}

/* Map a reference file of `bytes`; "-" is none. */
static int open_reference(const char *name, size_t bytes, const void **at) {
    int fd;
    *at = NULL;
    if (strcmp(name, "-") == 0) return 1;
    if (!open_file(name, 0, bytes, &fd)) return 0;
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    *at = map;
    return map != MAP_FAILED;
}

/* One line a parameter: `in NAME DTYPE BYTES DATA1 DATA2` (`const` likewise), `save NAME DTYPE BYTES FILE1 FILE2` or
   `out NAME DTYPE BYTES WANT1 ALLOWED1 WANT2 ALLOWED2`. The text of the fault, or NULL. */
static const char *read_spec(const char *path, Params *params) {
    FILE *file = fopen(path, "r");
    if (!file) return "cannot open the spec";
    char f[4][256];
    for (Param *p = params->param;; p++) {
        if (fscanf(file, "%7s %63s %7s %zu %255s %255s", p->kind, p->name, p->dtype, &p->bytes,
                   f[0], f[1]) != 6)
            break;
        if (++params->count > MAX_PARAMS) return "too many parameters";
        int save = strcmp(p->kind, "save") == 0, ok = 1;
        if (strcmp(p->kind, "out") != 0) {
            for (int s = 0; s < SETS; s++) ok &= open_file(f[s], save, p->bytes, &p->fd[s]);
        } else {
            if (fscanf(file, "%255s %255s", f[2], f[3]) != 2) return "an output lacks its reference";
            for (int s = 0; s < SETS; s++) {
                int raw = strcmp(f[2 * s + 1], "-") == 0;
                size_t wide = p->bytes / element_bytes(p) * sizeof(double);
                ok &= open_reference(f[2 * s], raw ? p->bytes : wide, &p->want[s]);
                ok &= open_reference(f[2 * s + 1], wide, (const void **)&p->allowed[s]);
            }
        }
        if (!ok) return "a data file is missing or too short";
    }
    fclose(file);
    return NULL;
}

#endif
