#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The new root grows on a folder that every machine has; outside, nobody sees it. */
#define ROOT "/tmp"
#define OLD "/.old"

static const char *const SYSTEM[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", NULL};
/* What programs look up, and nothing that is private to this machine. */
static const char *const SETTINGS[] = {
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl", "ca-certificates", "pki", "alternatives", "nsswitch.conf",
    "localtime", "mime.types", "resolv.conf", "services", "protocols", NULL,
};
static const char *const DEVICES[] = {"null", "zero", "full", "random", "urandom", NULL};

int setgroups_none(void) { return setgroups(0, NULL); }

static void folder(const char *path) {
    if (mkdir(path, 0755) < 0 && errno != EEXIST) fail("cannot make", path);
}

static void put(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0 || write(file, text, strlen(text)) < 0) fail("cannot write", path);
    close(file);
}

/* Read-only, with whatever is mounted below it. Flags that a mount has already must stay, or the kernel refuses. */
static void read_only(const char *path) {
    struct statvfs now;
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
#if defined(SYS_mount_setattr)
    struct {
        unsigned long long set, clear, propagation, user_namespace;
    } change = {.set = 1 /* MOUNT_ATTR_RDONLY */};
    if (syscall(SYS_mount_setattr, AT_FDCWD, path, 0x8000 /* AT_RECURSIVE */, &change, sizeof change) == 0) return;
#endif
    if (statvfs(path, &now) == 0) {
        if (now.f_flag & ST_NOSUID) flags |= MS_NOSUID;
        if (now.f_flag & ST_NODEV) flags |= MS_NODEV;
        if (now.f_flag & ST_NOEXEC) flags |= MS_NOEXEC;
    }
    if (mount(NULL, path, NULL, flags, NULL) < 0) fail("cannot make read-only", path);
}

static void bind_from(int source, const char *name, const char *target) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", source);
    if (mount(path, target, NULL, MS_BIND | MS_REC, NULL) < 0) fail("cannot show", name);
}

static int opened(const char *path) {
    int source = open(path, O_PATH | O_CLOEXEC);
    if (source < 0) fail("cannot open", path);
    return source;
}

/* A place of this machine at the same place inside: a link stays a link. */
static void same_place(const char *path, const char *target) {
    struct stat what;
    char link[256], real[PATH_MAX];
    if (lstat(path, &what) < 0) return;
    if (S_ISLNK(what.st_mode)) {
        ssize_t size = readlink(path, link, sizeof link - 1);
        if (size < 0 || realpath(path, real) == NULL) return;
        link[size] = 0;
        /* Where it leads must be there inside as well; else what it leads to is shown in its place. */
        if (!strncmp(real, "/usr/", 5) || !strncmp(real, "/etc/", 5)) {
            if (symlink(link, target) < 0 && errno != EEXIST) fail("cannot link", target);
            return;
        }
        if (stat(path, &what) < 0) return;
    }
    if (S_ISDIR(what.st_mode)) folder(target);
    else put(target, "");
    int source = opened(path);
    bind_from(source, path, target);
    close(source);
    read_only(target);
}

static void device(const char *name) {
    char path[64], target[64];
    snprintf(path, sizeof path, "/dev/%s", name);
    snprintf(target, sizeof target, ROOT "/dev/%s", name);
    int source = open(path, O_PATH | O_CLOEXEC);
    if (source < 0) return;
    put(target, "");
    bind_from(source, path, target);
    close(source);
}

/* On Lambda /tmp is a disk: what is written there is not the function's memory. */
static void disk(int image, const char *target) {
    char path[32];
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0) fail("cannot open", "/dev/loop-control");
    flock(control, LOCK_EX); /* between asking for a free one and taking it, no other sandbox may */
    for (int attempt = 0; attempt < 64; attempt++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        if (number < 0) break;
        snprintf(path, sizeof path, "/dev/loop%d", number);
        int loop = open(path, O_RDWR | O_CLOEXEC);
        if (loop < 0) break;
        struct loop_config config = {.fd = (unsigned)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR};
        if (ioctl(loop, LOOP_CONFIGURE, &config) < 0) { /* another sandbox was quicker */
            int why = errno;
            close(loop);
            errno = why;
            if (why == EBUSY) continue;
            break;
        }
        int failed = mount(path, target, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME, NULL);
        close(loop);
        if (failed < 0) break;
        close(control);
        return;
    }
    fail("cannot mount a disk on", "/tmp");
}

void make_world(const struct world *world, uid_t user, gid_t group) {
    char text[256];
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) fail("cannot have a private view of", "/");
    int task = opened(world->task), lang = opened(world->lang), opt = world->opt ? opened(world->opt) : -1;
    if (mount("tmpfs", ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=755") < 0) fail("cannot mount", "the root");

    for (int at = 0; SYSTEM[at]; at++) {
        snprintf(text, sizeof text, ROOT "%s", SYSTEM[at]);
        same_place(SYSTEM[at], text);
    }
    folder(ROOT "/etc");
    for (int at = 0; SETTINGS[at]; at++) {
        char path[64];
        snprintf(path, sizeof path, "/etc/%s", SETTINGS[at]);
        snprintf(text, sizeof text, ROOT "/etc/%s", SETTINGS[at]);
        same_place(path, text);
    }
    snprintf(text, sizeof text, "root:x:0:0::/root:/sbin/nologin\nsbx_user1051:x:%d:%d::/home/sbx_user1051:/sbin/nologin\n",
             user, group);
    put(ROOT "/etc/passwd", text);
    snprintf(text, sizeof text, "root:x:0:\nsbx_user1051:x:%d:\n", group);
    put(ROOT "/etc/group", text);
    put(ROOT "/etc/hosts", "127.0.0.1 localhost\n");

    folder(ROOT "/dev");
    for (int at = 0; DEVICES[at]; at++) device(DEVICES[at]);
    if (symlink("/proc/self/fd", ROOT "/dev/fd") < 0 || symlink("/proc/self/fd/0", ROOT "/dev/stdin") < 0 ||
        symlink("/proc/self/fd/1", ROOT "/dev/stdout") < 0 || symlink("/proc/self/fd/2", ROOT "/dev/stderr") < 0)
        fail("cannot make", "/dev");

    folder(ROOT "/proc");
    if (mount("proc", ROOT "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) fail("cannot mount", "/proc");
    folder(ROOT "/var");
    folder(ROOT "/var/runtime");
    folder(ROOT "/var/task");
    bind_from(task, world->task, ROOT "/var/task");
    read_only(ROOT "/var/task");
    folder(ROOT "/var/lang");
    bind_from(lang, world->lang, ROOT "/var/lang");
    read_only(ROOT "/var/lang");
    folder(ROOT "/opt");
    if (opt >= 0) {
        bind_from(opt, world->opt, ROOT "/opt");
        read_only(ROOT "/opt");
    }
    folder(ROOT "/tmp");
    if (world->tmp_image >= 0) {
        disk(world->tmp_image, ROOT "/tmp");
        rmdir(ROOT "/tmp/lost+found");
    } else {
        snprintf(text, sizeof text, "size=%dm,mode=1777", world->tmp_mb);
        if (mount("tmpfs", ROOT "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, text) < 0) fail("cannot mount", "/tmp");
    }
    chmod(ROOT "/tmp", 01777);

    folder(ROOT OLD);
    if (syscall(SYS_pivot_root, ROOT, ROOT OLD) < 0) fail("cannot enter", "the root");
    if (chdir("/") < 0 || umount2(OLD, MNT_DETACH) < 0 || rmdir(OLD) < 0) fail("cannot leave", "the old root");
    if (mount(NULL, "/", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        fail("cannot make read-only", "/");
    if (sethostname("169.254.0.1", 11) < 0) fail("cannot name", "the host");
    if (chdir("/var/task") < 0) fail("cannot enter", "/var/task");
}
