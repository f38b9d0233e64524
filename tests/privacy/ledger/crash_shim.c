/* Kills the process at its k-th system call on a file of one folder; or in the middle of its k-th write, where asked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>
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

static int is_there(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int counts_down(void) { return --left == 0; }
static int dies(const char *path) {
    return left > 0 && !halved && path && strncmp(path, folder, strlen(folder)) == 0 && counts_down();
}
static int dies_at(int fd) { return left > 0 && !halved && is_there(fd) && counts_down(); }
static int dies_writing(int fd) { return left > 0 && is_there(fd) && counts_down(); }

static void die(void) { kill(getpid(), SIGKILL); }

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    if (dies_writing(fd)) {
        if (halved) real(fd, data, size / 2);
        die();
    }
    return real(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    REAL(pwrite64);
    if (dies_writing(fd)) {
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
ON_FD(int, fchmod, (int fd, mode_t mode), (fd, mode))
ON_FD(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
ON_FD(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
ON_FD(ssize_t, pread, (int fd, void *data, size_t size, off_t offset), (fd, data, size, offset))
ON_FD(ssize_t, pread64, (int fd, void *data, size_t size, off64_t offset), (fd, data, size, offset))
ON_FD(off_t, lseek, (int fd, off_t offset, int from), (fd, offset, from))
ON_FD(off64_t, lseek64, (int fd, off64_t offset, int from), (fd, offset, from))
ON_FD(int, close, (int fd), (fd))
ON_FD(int, ioctl, (int fd, unsigned long request, void *argument), (fd, request, argument))
ON_FD(int, fstat, (int fd, struct stat *file), (fd, file))
ON_FD(int, fstat64, (int fd, struct stat64 *file), (fd, file))
ON_PATH(int, stat, (const char *path, struct stat *file), (path, file))
ON_PATH(int, stat64, (const char *path, struct stat64 *file), (path, file))
ON_PATH(int, lstat, (const char *path, struct stat *file), (path, file))
ON_PATH(int, lstat64, (const char *path, struct stat64 *file), (path, file))
ON_PATH(int, access, (const char *path, int mode), (path, mode))
ON_PATH(ssize_t, readlink, (const char *path, char *target, size_t size), (path, target, size))
ON_PATH(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t size), (path, name, value, size))

/* Locks of a file. */
int fcntl64(int fd, int command, ...) {
    REAL(fcntl64);
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (dies_at(fd)) die();
    return real(fd, command, argument);
}

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return fcntl64(fd, command, argument);
}

int fstatat(int at, const char *path, struct stat *file, int flags) {
    REAL(fstatat);
    if (dies(path)) die();
    return real(at, path, file, flags);
}

int fstatat64(int at, const char *path, struct stat64 *file, int flags) {
    REAL(fstatat64);
    if (dies(path)) die();
    return real(at, path, file, flags);
}

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
