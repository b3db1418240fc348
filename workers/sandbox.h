/* What a candidate may do: resource limits, a system-call filter, and a report of what it hit. */
#ifndef TILEWRIGHT_SANDBOX_H
#define TILEWRIGHT_SANDBOX_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#endif

/* Address space beyond what the buffers need: the C library, the candidate's code, its stack. */
#define HEADROOM_BYTES ((size_t)256 << 20)

static void limit(int what, rlim_t value) {
    struct rlimit both = {value, value};
    if (what == RLIMIT_CPU) both.rlim_max = value + 1; /* so that SIGXCPU comes before SIGKILL */
    setrlimit(what, &both);
}

/* Address space of one further thread: its stack, and its share of the C library's heap. */
#define THREAD_BYTES ((size_t)136 << 20)

/* The cores in `list`, like 3,0,1, as a set; the number of them. */
static int cores(const char *list, cpu_set_t *set) {
    int count = 0;
    CPU_ZERO(set);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        CPU_SET(atoi(at), set);
        count++;
    }
    return count;
}

/* How OpenMP runs a kernel, said before it is loaded: one thread on each core, all of them asleep
   while they wait. A thread that spins beside a busy core costs more than the work. */
static void prepare_threads(const char *list, int threads) {
    char number[16], places[2048] = "";
    snprintf(number, sizeof number, "%d", threads);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t used = strlen(places);
        snprintf(places + used, sizeof places - used, "%s{%d}", used ? "," : "", atoi(at));
    }
    setenv("OMP_NUM_THREADS", number, 1);
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("GOMP_SPINCOUNT", "10000", 1); /* tilewright/kernels.py says the same, and why */
    setenv("OMP_DYNAMIC", "false", 1);
    setenv("OMP_STACKSIZE", "8M", 1);
    setenv("OMP_PROC_BIND", "true", 1);
    setenv("OMP_PLACES", places, 1);
}

/* Die with the worker, run on the cores that it names, and stay within bounds. */
static void enclose(long parent, const char *cpus, long cpu_seconds, size_t bytes,
                    size_t file_bytes) {
    size_t pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0); /* the worker died before the line above */
    cpu_set_t set;
    int threads = cores(cpus, &set);
    if (threads) sched_setaffinity(0, sizeof set, &set);
    if (threads > 1) {
        prepare_threads(cpus, threads);
        bytes += (size_t)threads * THREAD_BYTES;
        cpu_seconds *= threads;
    }
    setpriority(PRIO_PROCESS, 0, -10); /* root only, and it only makes the times steadier */
    if (statm && fscanf(statm, "%zu", &pages) != 1) pages = 0;
    if (statm) fclose(statm);
    limit(RLIMIT_AS, pages * (size_t)sysconf(_SC_PAGESIZE) + bytes + HEADROOM_BYTES);
    limit(RLIMIT_CPU, (rlim_t)cpu_seconds);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, file_bytes);
    if (threads <= 1) limit(RLIMIT_NPROC, 0); /* it counts all of a user's; the filter allows threads only */
}

#ifdef FILTER_ARCH
/* What the runner and a kernel need; everything else answers EPERM. */
static const unsigned ALLOWED[] = {
    __NR_read, __NR_pread64, __NR_write, __NR_mmap, __NR_munmap, __NR_mprotect, __NR_mremap,
    __NR_madvise, __NR_brk, __NR_clock_gettime, __NR_exit, __NR_exit_group, __NR_futex,
    __NR_rt_sigreturn, __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_getpid, __NR_gettid,
    __NR_getrandom, __NR_sched_yield, __NR_sched_getaffinity, __NR_fstat, __NR_lseek,
};
/* dlopen's. Opening is let through for reading only. */
static const unsigned ALLOWED_TO_LOAD[] = {
    __NR_close, __NR_readlinkat, __NR_faccessat, __NR_newfstatat, __NR_getcwd,
#ifdef __NR_access
    __NR_access, __NR_readlink, __NR_stat,
#endif
};

/* A team of threads needs these as well; clone is let through for threads only. */
static const unsigned ALLOWED_TO_THREADS[] = {
    __NR_set_robust_list, __NR_sched_setaffinity, __NR_rseq,
};

static size_t allow(struct sock_filter *code, const unsigned *calls, size_t count) {
    for (size_t i = 0; i < count; i++) {
        code[2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        code[2 * i + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    return 2 * count;
}

/* Let `call` through if its argument `index`, masked, equals `value`. */
static size_t allow_if(struct sock_filter *code, unsigned call, int index, unsigned mask,
                       unsigned value) {
    struct sock_filter rule[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 (unsigned)offsetof(struct seccomp_data, args) + 8 * (unsigned)index),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
    };
    memcpy(code, rule, sizeof rule);
    return sizeof rule / sizeof *rule;
}
#endif

/* Filter system calls from here on; 1 if the kernel took the filter. Each call only narrows. */
static int filter_calls(int loading, int threads) {
#ifdef FILTER_ARCH
    struct sock_filter code[192] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    size_t n = 4;
    n += allow(code + n, ALLOWED, sizeof ALLOWED / sizeof *ALLOWED);
    n += allow_if(code + n, __NR_tgkill, 0, ~0u, (unsigned)getpid()); /* abort() */
    if (threads > 1) {
        n += allow(code + n, ALLOWED_TO_THREADS,
                   sizeof ALLOWED_TO_THREADS / sizeof *ALLOWED_TO_THREADS);
        n += allow_if(code + n, __NR_clone, 0, CLONE_THREAD, CLONE_THREAD);
        /* its flags are in memory, where no filter looks: the C library falls back to clone */
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    }
    if (loading) {
        /* the second filter, installed once the candidate is loaded */
        const unsigned narrowing[] = {__NR_seccomp, __NR_prctl};
        n += allow(code + n, narrowing, 2);
        n += allow(code + n, ALLOWED_TO_LOAD, sizeof ALLOWED_TO_LOAD / sizeof *ALLOWED_TO_LOAD);
        n += allow_if(code + n, __NR_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 0;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    (void)loading;
    (void)threads;
    return 0;
#endif
}

/* The modes that a kernel must leave alone: rounding, denormals, masks; not the sticky flags. */
static unsigned float_mode(void) {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu;
#elif defined(__aarch64__)
    unsigned long fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (unsigned)fpcr;
#else
    return 0;
#endif
}

#endif
