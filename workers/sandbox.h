/* What a candidate may do: resource limits, a system-call filter, and a report of what it hit. */
#ifndef TILEWRIGHT_SANDBOX_H
#define TILEWRIGHT_SANDBOX_H

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

/* Die with the worker, run on one core if it names one, and stay within bounds. */
static void enclose(long parent, int cpu, long cpu_seconds, size_t bytes, size_t file_bytes) {
    size_t pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0); /* the worker died before the line above */
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    setpriority(PRIO_PROCESS, 0, -10); /* root only, and it only makes the times steadier */
    if (statm && fscanf(statm, "%zu", &pages) != 1) pages = 0;
    if (statm) fclose(statm);
    limit(RLIMIT_AS, pages * (size_t)sysconf(_SC_PAGESIZE) + bytes + HEADROOM_BYTES);
    limit(RLIMIT_CPU, (rlim_t)cpu_seconds);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, file_bytes);
    limit(RLIMIT_NPROC, 0); /* targets have one thread */
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
static int filter_calls(int loading) {
#ifdef FILTER_ARCH
    struct sock_filter code[160] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    size_t n = 4;
    n += allow(code + n, ALLOWED, sizeof ALLOWED / sizeof *ALLOWED);
    n += allow_if(code + n, __NR_tgkill, 0, ~0u, (unsigned)getpid()); /* abort() */
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
