/* Peaks of one core: f32 multiply-add with vectors of LANES floats, and copying BYTES in all
   (half read, half written). Prints {"flops_per_s": ..., "copy_bytes_per_s": ...}.

   peaks BYTES CPU */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Chains enough to hide the latency of two multiply-add units, and registers left for factors. */
#if LANES == 16
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) \
    X(14) X(15) X(16) X(17) X(18) X(19)
#define COUNT 20
#else
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define COUNT 12
#endif
#define REPEATS 40 /* windows; the best one is the peak */
#define WINDOW_S 0.004

typedef float Vector __attribute__((vector_size(4 * LANES)));

static volatile float factor = 0.999f, addend = 0.001f, sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double multiply_add(long rounds) {
    Vector zero = {0}, a = zero + factor, b = zero + addend;
#define START(i) Vector c##i = zero + (float)i;
    CHAINS(START)
    double start = now();
    for (long r = 0; r < rounds; r++) {
#define STEP(i) c##i = c##i * a + b;
        CHAINS(STEP)
    }
    double spent = now() - start;
#define ADD(i) zero += c##i;
    CHAINS(ADD)
    sink = zero[0];
    return spent;
}

/* The better of the C library's copy and a plain vector loop. */
static double copy(float *to, const float *from, size_t bytes, int plain, long rounds) {
    double start = now();
    for (long r = 0; r < rounds; r++) {
        if (!plain) {
            memcpy(to, from, bytes);
        } else {
            for (size_t i = 0; i < bytes / sizeof(Vector); i++) {
                Vector v = ((const Vector *)(const void *)from)[i];
                ((Vector *)(void *)to)[i] = v;
            }
        }
        __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
    }
    return now() - start;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    size_t half = strtoull(argv[1], NULL, 10) / 2 / 4096 * 4096;
    if (half < 4096) half = 4096;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[2]), &set);
    sched_setaffinity(0, sizeof set, &set);
    float *to = aligned_alloc(4096, half), *from = aligned_alloc(4096, half);
    if (!to || !from) return 1;
    memset(to, 1, half);
    memset(from, 1, half);

    long rounds = 1000;
    while (multiply_add(rounds) < WINDOW_S) rounds *= 2;
    double best = 1e9, best_copy = 1e9;
    for (int i = 0; i < REPEATS; i++) {
        double spent = multiply_add(rounds);
        best = spent < best ? spent : best;
    }
    for (int plain = 0; plain < 2; plain++) {
        long copies = 1;
        while (copy(to, from, half, plain, copies) < WINDOW_S) copies *= 2;
        for (int i = 0; i < REPEATS / 2; i++) {
            double spent = copy(to, from, half, plain, copies) / (double)copies;
            best_copy = spent < best_copy ? spent : best_copy;
        }
    }
    printf("{\"flops_per_s\": %.6e, \"copy_bytes_per_s\": %.6e}\n",
           2.0 * LANES * COUNT * (double)rounds / best, 2.0 * (double)half / best_copy);
    return 0;
}
