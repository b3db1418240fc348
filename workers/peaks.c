/* Peaks of some cores together, a thread on each: f32 multiply-add with vectors of LANES floats, and
   copying BYTES in all (half read, half written). Prints {"flops_per_s": ..., "copy_bytes_per_s": ...}.

   peaks BYTES CPU,… */
#define _GNU_SOURCE
#include <pthread.h>
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

static volatile float factor = 0.999f, addend = 0.001f;
static _Thread_local volatile float sink;

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

#define MOST_THREADS 256

static int threads;
static int cpu_of[MOST_THREADS];
static size_t share; /* bytes that one thread reads, and writes */
static pthread_barrier_t barrier;
static long rounds, copies;
static double best = 1e9, best_copy = 1e9;

/* All threads do the same at once; seconds from the first start to the last end, in thread 0. */
static double together(float *to, const float *from, int plain) {
    pthread_barrier_wait(&barrier);
    double start = now();
    if (plain < 0) multiply_add(rounds);
    else copy(to, from, share, plain, copies);
    pthread_barrier_wait(&barrier);
    return now() - start;
}

/* Thread 0 decides how often work is repeated; the others read it behind a barrier. */
static void *measure(void *argument) {
    int me = (int)(long)argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu_of[me], &set);
    sched_setaffinity(0, sizeof set, &set);
    float *to = aligned_alloc(4096, share), *from = aligned_alloc(4096, share);
    if (!to || !from) exit(1);
    memset(to, 1, share);
    memset(from, 1, share);

    if (me == 0)
        for (rounds = 1000; multiply_add(rounds) < WINDOW_S;) rounds *= 2;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < REPEATS; i++) {
        double spent = together(to, from, -1);
        if (me == 0 && spent < best) best = spent;
    }
    for (int plain = 0; plain < 2; plain++) {
        if (me == 0)
            for (copies = 1; copy(to, from, share, plain, copies) < WINDOW_S;) copies *= 2;
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < REPEATS / 2; i++) {
            double spent = together(to, from, plain) / (double)copies;
            if (me == 0 && spent < best_copy) best_copy = spent;
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    for (const char *at = argv[2]; at && threads < MOST_THREADS; threads++) {
        cpu_of[threads] = atoi(at);
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    share = strtoull(argv[1], NULL, 10) / 2 / (size_t)threads / 4096 * 4096;
    if (share < 4096) share = 4096;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    pthread_t others[MOST_THREADS];
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, measure, (void *)(long)i)) return 1;
    measure((void *)0);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    printf("{\"flops_per_s\": %.6e, \"copy_bytes_per_s\": %.6e}\n",
           2.0 * LANES * COUNT * (double)rounds * threads / best,
           2.0 * (double)share * threads / best_copy);
    return 0;
}
