/* A wall clock that a test moves, for a process with this in LD_PRELOAD and CLOCK_FILE: 8 bytes, the
 * seconds that it is ahead. As with a clock that is really set: a wait for a moment of the wall clock
 * ends when the clock shows it, however long that is; CLOCK_MONOTONIC goes on evenly. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const long SLICE = 10000000; /* ns between two looks at the clock */
static int64_t none;
static volatile int64_t *ahead = &none;
static int (*real_clock)(clockid_t, struct timespec *);
static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_cnd)(cnd_t *, mtx_t *, const struct timespec *);
static int (*real_sem)(sem_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
    real_clock = dlsym(RTLD_NEXT, "clock_gettime");
    real_wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real_wait) real_wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    real_cnd = dlsym(RTLD_NEXT, "cnd_timedwait");
    real_sem = dlsym(RTLD_NEXT, "sem_timedwait");
    const char *path = getenv("CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *shared = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) ahead = shared;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_clock) begin();
    int failed = real_clock(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, now) ? base : 0;
}

/* The next look at the clock in the real one, or 0 if `at` has come. */
static int next_look(const struct timespec *at, struct timespec *look) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec > at->tv_sec || (now.tv_sec == at->tv_sec && now.tv_nsec >= at->tv_nsec)) return 0;
    real_clock(CLOCK_REALTIME, look);
    look->tv_nsec += SLICE;
    if (look->tv_nsec >= 1000000000) {
        look->tv_sec++;
        look->tv_nsec -= 1000000000;
    }
    return 1;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict at) {
    /* A condition that waits by the monotonic clock is left alone: its moment is in no wall clock's era. */
    if (at->tv_sec < 1000000000) return real_wait(cond, mutex, at);
    struct timespec look;
    while (next_look(at, &look)) {
        int ended = real_wait(cond, mutex, &look);
        if (ended != ETIMEDOUT) return ended;
    }
    return ETIMEDOUT;
}

int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict at) {
    struct timespec look;
    while (next_look(at, &look)) {
        int ended = real_cnd(cond, mutex, &look);
        if (ended != thrd_timedout) return ended;
    }
    return thrd_timedout;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict at) {
    struct timespec look;
    while (next_look(at, &look)) {
        int failed = real_sem(semaphore, &look);
        if (!failed || errno != ETIMEDOUT) return failed;
    }
    errno = ETIMEDOUT;
    return -1;
}
