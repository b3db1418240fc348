/* Runs one candidate kernel: checks it on two data sets between guard pages, then times it.

   runner spec=FILE library=SO kernel=NAME workspace=BYTES prepared=BYTES parent=PID cpus=N,…
          cpu_s=N mode=MODE
          [min_samples= max_samples= min_total_s= min_sample_s= slow_factor= incumbent_s=]

   It has one thread for each of the cores in `cpus`, one where there are none.
   MODE is `time` (check, then time), `rounds` (check, then one sample for each byte on stdin) or
   `reference` (fill the spec's `save` files). The spec's files are relative to it.
   Where `prepared` is not 0, NAME_prepare makes that of the constants, once for each data set and
   once before the timing; from then on it is read-only.
   Prints one JSON object a line as each stage ends, so that a crash leaves what was known before. */
#define _GNU_SOURCE
#include "sandbox.h"

#include "report.h"

#include "buffers.h"

#include <dlfcn.h>
#include <time.h>

#define MAX_CALLS 1000000L /* in one sample */
#define MAX_SAMPLES 100000L

/* Both supported ABIs let a callee ignore further arguments: one type serves every signature. */
#define P8 void *, void *, void *, void *, void *, void *, void *, void *
typedef int (*Kernel)(P8, P8, P8, P8, P8);
#define A8(i) a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7]

static Params params;
static Kernel kernel, prepare; /* no `prepare`: NULL */
static const char *stage = "start";

static void say_fault(int signal, siginfo_t *info, void *context) {
    (void)context;
    const unsigned char *at = info->si_addr;
    const char *side = "elsewhere", *name = "";
    for (int i = 0; i < params.all; i++) {
        const Param *p = &params.param[i];
        if (!p->map || at < p->map || at >= p->map + p->room + 2 * GUARD_BYTES) continue;
        name = p->name;
        side = at < p->map + GUARD_BYTES ? "before" : "after";
        if (at >= p->map + GUARD_BYTES && at < p->map + GUARD_BYTES + p->room) side = "inside";
    }
    say("{\"stage\": \"fault\", \"signal\": %d, \"during\": \"%s\", \"side\": \"%s\", "
        "\"buffer\": \"%s\"}", signal, stage, side, name);
} /* SA_RESETHAND: the instruction runs again and ends the process */

static void watch_faults(void) {
    static char stack[1 << 16];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = say_fault,
                               .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void call_with(Kernel function, void **a) {
    int status = function(A8(0), A8(8), A8(16), A8(24), A8(32));
    if (status == 1) end("no_memory", "the kernel returned 1, no memory, during %s", stage);
    if (status) end("crash", "the kernel returned %d during %s; 0 or 1 expected", status, stage);
}

static void call(void) {
    void *a[MAX_ARGUMENTS] = {0};
    for (int i = 0; i < params.all; i++) a[i] = params.param[i].data;
    call_with(kernel, a);
}

/* What depends on constants alone is made, and may not be changed from then on. The seconds. */
static double make_prepared(void) {
    void *a[MAX_ARGUMENTS] = {0};
    int count = 0;
    if (!prepare) return 0;
    for (int i = 0; i < params.count; i++)
        if (strcmp(params.param[i].kind, "const") == 0) a[count++] = params.param[i].data;
    const Param *made = &params.param[params.count];
    a[count] = made->data;
    double start = now();
    call_with(prepare, a);
    double spent = now() - start;
    if (mprotect(made->map + GUARD_BYTES, made->room, PROT_READ)) fail("cannot protect", made->name);
    return spent;
}

static void map_all(enum place place, int set) {
    for (int i = 0; i < params.all; i++) {
        Param *p = &params.param[i];
        if (i >= params.count && p->bytes == 0) continue; /* no workspace: NULL */
        if (!map_param(p, place, i)) end("no_memory", "cannot map %zu bytes of %s", p->bytes, p->name);
        if (!fill_param(p, set)) fail("cannot read the data of", p->name);
    }
}

static void unmap_all(void) {
    for (int i = 0; i < params.all; i++) {
        Param *p = &params.param[i];
        if (p->map) unmap_param(p);
        p->map = p->data = NULL;
    }
}

static double check_outputs(int set) {
    double worst = 0;
    for (int i = 0; i < params.all; i++) {
        const Param *p = &params.param[i];
        if (p->map && slack_touched(p))
            end("wrong_result", "data set %d: wrote outside %s", set + 1, p->name);
    }
    for (int i = 0; i < params.count; i++) {
        const Param *p = &params.param[i];
        size_t at = 0;
        if (strcmp(p->kind, "out") != 0) continue;
        double ratio = worst_error(p, set, &at);
        if (ratio > 1 && !p->allowed[set])
            end("wrong_result", "data set %d: %s[%zu] differs", set + 1, p->name, at);
        if (ratio > 1) {
            double got = float_value(p, at), want = ((const double *)p->want[set])[at];
            end("wrong_result", "data set %d: %s[%zu] is %.9g, expected %.9g within %.3g", set + 1,
                p->name, at, isnan(got) ? NAN : got, want, p->allowed[set][at]);
        }
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

static void check(unsigned mode_before) {
    for (int set = 0; set < SETS; set++) {
        double start = now();
        stage = set ? "the check on data set 2" : "the check on data set 1";
        map_all(set ? AT_START : AT_END, set);
        make_prepared();
        call();
        if (float_mode() != mode_before)
            end("wrong_result", "the kernel changed the processor's floating-point mode");
        double ratio = check_outputs(set);
        unmap_all();
        say("{\"stage\": \"checked\", \"set\": %d, \"error_ratio\": %.6g, \"s\": %.9f}", set + 1,
            ratio, now() - start);
    }
}

static void save(void) {
    stage = "the reference";
    for (int set = 0; set < SETS; set++) {
        map_all(ALIGNED, set);
        call();
        for (int i = 0; i < params.count; i++) {
            const Param *p = &params.param[i];
            if (strcmp(p->kind, "save") != 0) continue;
            for (size_t done = 0; done < p->bytes;) {
                ssize_t n = write(p->fd[set], p->data + done, p->bytes - done);
                if (n <= 0) fail("cannot write the reference of", p->name);
                done += (size_t)n;
            }
        }
        unmap_all();
    }
}

static double sample(long calls) {
    double start = now();
    for (long i = 0; i < calls; i++) call();
    return now() - start;
}

/* Warm up, then group calls until one sample takes `shortest` seconds; `*last` is that sample. */
static long calibrate(double shortest, double *last) {
    long calls = 1;
    call();
    while ((*last = sample(calls)) < shortest && calls < MAX_CALLS) {
        double grow = *last > 0 ? 1.2 * shortest / *last : 10;
        calls = (long)((double)calls * (grow < 10 ? grow : 10)) + 1;
        if (calls > MAX_CALLS) calls = MAX_CALLS;
    }
    return calls;
}

static void time_alone(int argc, char **argv) {
    static double samples[MAX_SAMPLES];
    long least = (long)number(argc, argv, "min_samples", NULL);
    long most = (long)number(argc, argv, "max_samples", NULL), count = 1;
    double least_s = number(argc, argv, "min_total_s", NULL), start = now();
    double slow_s = number(argc, argv, "slow_factor", NULL) * number(argc, argv, "incumbent_s", "0");
    most = most < MAX_SAMPLES ? most : MAX_SAMPLES;
    long calls = calibrate(number(argc, argv, "min_sample_s", NULL), &samples[0]);
    double total = samples[0], fastest = samples[0];
    while (count < most && (count < least || total < least_s)) {
        if (count >= least && slow_s > 0 && fastest > slow_s * (double)calls) break;
        double s = samples[count++] = sample(calls);
        total += s;
        fastest = s < fastest ? s : fastest;
    }
    double spent = now() - start;
    printf("{\"stage\": \"timed\", \"calls\": %ld, \"s\": %.9f, \"samples_s\": [", calls, spent);
    for (long i = 0; i < count; i++) printf("%s%.9e", i ? ", " : "", samples[i] / (double)calls);
    say("]}");
}

static void time_in_rounds(int argc, char **argv) {
    char turn;
    double last;
    long calls = calibrate(number(argc, argv, "min_sample_s", NULL), &last);
    say("{\"stage\": \"ready\", \"calls\": %ld, \"s\": %.9f}", calls, last);
    while (read(0, &turn, 1) == 1) {
        call(); /* the others' data is in the caches */
        say("{\"stage\": \"sample\", \"s\": %.9e}", sample(calls) / (double)calls);
    }
}

static void *symbol(void *handle, const char *kernel_name, const char *of) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", kernel_name, of);
    void *found = dlsym(handle, name);
    if (!found) end("compile_error", "%s does not export %s", kernel_name, name);
    return found;
}

static void check_size(void *handle, const char *name, const char *of, size_t expected) {
    size_t size = ((size_t (*)(void))symbol(handle, name, of))();
    if (size != expected)
        end("compile_error", "%s%s says %zu bytes; %zu expected", name, of, size, expected);
}

static void load(const char *library, const char *name, size_t workspace, size_t prepared) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) end("compile_error", "cannot be loaded: %s", dlerror());
    kernel = (Kernel)symbol(handle, name, "");
    check_size(handle, name, "_workspace_bytes", workspace);
    if (!prepared) return;
    check_size(handle, name, "_prepared_bytes", prepared);
    prepare = (Kernel)symbol(handle, name, "_prepare");
}

/* After the kernel's own arguments: what is prepared, if anything is, and the workspace. */
static void add_area(const char *name, size_t bytes) {
    Param *area = &params.param[params.all++];
    *area = (Param){.kind = "work", .dtype = "f64", .bytes = bytes};
    snprintf(area->name, sizeof area->name, "%s", name);
}

int main(int argc, char **argv) {
    static char spec[4096], out[1 << 16];
    setvbuf(stdout, out, _IOFBF, sizeof out);
    const char *mode = text(argc, argv, "mode", NULL), *library = text(argc, argv, "library", NULL);
    int reference = strcmp(mode, "reference") == 0;
    snprintf(spec, sizeof spec, "%s", text(argc, argv, "spec", NULL));
    char *slash = strrchr(spec, '/');
    if (!slash) fail("not an absolute path:", spec);
    *slash = 0;
    if (chdir(spec)) fail("no folder", spec);
    const char *fault = read_spec(slash + 1, &params);
    if (fault) fail("spec:", fault);

    size_t workspace = (size_t)number(argc, argv, "workspace", NULL);
    size_t prepared = (size_t)number(argc, argv, "prepared", "0");
    params.all = params.count;
    if (prepared) add_area("prepared", prepared);
    add_area("workspace", workspace);
    size_t bytes = 0, largest = 0;
    for (int i = 0; i < params.all; i++) {
        size_t own = params.param[i].bytes;
        bytes += own + 2 * GUARD_BYTES + 2 * PAGE_BYTES;
        largest = own > largest ? own : largest;
    }
    const char *cpus = text(argc, argv, "cpus", "");
    int threads = (int)(strlen(cpus) > 0);
    for (const char *c = cpus; *c; c++) threads += *c == ',';
    enclose((long)number(argc, argv, "parent", NULL), cpus,
            (long)number(argc, argv, "cpu_s", NULL), bytes, reference ? largest : 0);
    watch_faults();
    unsigned before = float_mode();
    int filtered = filter_calls(1, threads);
    stage = "loading";
    load(library, text(argc, argv, "kernel", NULL), workspace, prepared);
    filtered = filtered && filter_calls(0, threads);
    say("{\"stage\": \"loaded\", \"filtered\": %s}", filtered ? "true" : "false");

    if (reference) {
        save();
    } else {
        check(before);
        stage = "timing";
        map_all(ALIGNED, 1);
        double spent = make_prepared();
        if (prepare) say("{\"stage\": \"prepared\", \"s\": %.9f}", spent);
        if (strcmp(mode, "rounds") == 0) time_in_rounds(argc, argv);
        else time_alone(argc, argv);
    }
    end("ok", "%s", "");
}
