/* Kills the process at its k-th system call that opens or changes a file of one folder; a write is cut in half first, where asked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static long left = -1;
static int halved;

void crash_arm(const char *where, long k, int half) {
    strncpy(folder, where, sizeof folder - 1);
    left = k;
    halved = half;
}

long crash_left(void) { return left; }

static int dies(const char *path) {
    return left > 0 && path && strncmp(path, folder, strlen(folder)) == 0 && --left == 0;
}

static int dies_at(int fd) {
    char link[64], path[4096];
    if (left <= 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return dies(path);
}

static void die(void) { kill(getpid(), SIGKILL); }

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    if (dies_at(fd)) {
        if (halved) real(fd, data, size / 2);
        die();
    }
    return real(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    REAL(pwrite64);
    if (dies_at(fd)) {
        if (halved) real(fd, data, size / 2, offset);
        die();
    }
    return real(fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

#define ON_FD(type, name, parameters, arguments) \
    type name parameters { REAL(name); if (dies_at(fd)) die(); return real arguments; }
#define ON_PATH(type, name, parameters, arguments) \
    type name parameters { REAL(name); if (dies(path)) die(); return real arguments; }

ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, (int fd, off64_t size), (fd, size))
ON_PATH(int, unlink, (const char *path), (path))
ON_PATH(int, rename, (const char *path, const char *to), (path, to))
ON_PATH(int, chmod, (const char *path, mode_t mode), (path, mode))

int open64(const char *path, int flags, ...) {
    REAL(open64);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if (dies(path)) die();
    return real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return open64(path, flags, mode);
}
