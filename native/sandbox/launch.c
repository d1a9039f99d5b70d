/* Starts a function in a world like Lambda's: its own processes, files, network and user.
 *
 *   launch --channel FD [--cgroup FILE]... [--isolate --task DIR --lang DIR [--opt DIR] [--tmp-image FD | --tmp-mb N]]
 *          [--network] [--alone] -- PROGRAM ARGUMENT...
 *
 * Three processes: this one waits outside; an init inside reaps, since the first process of a namespace cannot be
 * killed by itself; the function. The channel, a socket, tells the emulator:
 *   "L" with a descriptor   the Runtime API's listener, made inside, where 127.0.0.1:9001 is the function's own
 *   "I" by the first process inside; the sender's credentials carry its number outside
 *   "B" by the function     it is about to start
 *   "P" by an extension     a program of /opt/extensions, which runs beside it
 *   "X" and a status        how it ended, as wait() says
 *   "E" and a sentence      what could not be set up
 * and by its end that nothing is left. Whatever kills the emulator kills all of these.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

enum { RUNTIME_API_PORT = 9001, DESCRIPTORS = 1024, USER = 993, GROUP = 990 };

static int channel = -1;

static void tell(const char *data, size_t size, int descriptor) {
    struct iovec part = {(void *)data, size};
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = {{0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    }
    while (sendmsg(channel, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

void fail(const char *what, const char *which) {
    char sentence[512];
    int size = snprintf(sentence, sizeof sentence, "E%s %s: %s", what, which, strerror(errno));
    tell(sentence, (size_t)size < sizeof sentence ? (size_t)size : sizeof sentence - 1, -1);
    _exit(125);
}

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, text, strlen(text)) < 0) fail("cannot write", path);
    close(file);
}

/* Without root: a user of our own namespace, who is the function's user inside and ourselves outside. */
static void become_nobody(uid_t user, gid_t group) {
    char line[64];
    write_file("/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "%d %d 1", USER, user);
    write_file("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "%d %d 1", GROUP, group);
    write_file("/proc/self/gid_map", line);
}

static void listen_inside(void) {
    struct ifreq loopback = {.ifr_name = "lo"};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(RUNTIME_API_PORT)};
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made < 0 || ioctl(made, SIOCGIFFLAGS, &loopback) < 0) fail("cannot look at", "lo");
    loopback.ifr_flags |= IFF_UP;
    if (ioctl(made, SIOCSIFFLAGS, &loopback) < 0) fail("cannot start", "lo");
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(made, (struct sockaddr *)&address, sizeof address) < 0 || listen(made, 64) < 0)
        fail("cannot listen on", "127.0.0.1:9001");
    tell("L", 1, made);
    close(made);
}

static void start(char **program, int drop, const char *who) {
    struct rlimit descriptors = {DESCRIPTORS, DESCRIPTORS};
    sigset_t none;
    setsid();
    setrlimit(RLIMIT_NOFILE, &descriptors);
    /* The local Lambda keeps the clocks: a function that wakes up must not push it off a CPU, and then time itself. */
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    if (drop && (setgroups_none() < 0 || setresgid(GROUP, GROUP, GROUP) < 0 || setresuid(USER, USER, USER) < 0))
        fail("cannot become", "the function's user");
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    umask(022);
    tell(who, 1, -1);
    execvp(program[0], program);
    fail("cannot start", program[0]);
}

static void start_extensions(int drop) {
    DIR *folder = opendir("/opt/extensions");
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[512];
        snprintf(path, sizeof path, "/opt/extensions/%s", entry->d_name);
        struct stat what;
        if (stat(path, &what) < 0 || !S_ISREG(what.st_mode) || access(path, X_OK) < 0) continue;
        char *program[] = {path, NULL};
        pid_t made = fork();
        if (made == 0) start(program, drop, "P");
        if (made < 0) fail("cannot start", path);
    }
    if (folder != NULL) closedir(folder);
}

/* The function's end is told at once. What runs beside it may go on until the emulator kills this process. */
static void reap(pid_t function) {
    for (;;) {
        int status;
        pid_t ended = wait(&status);
        if (ended < 0 && errno == EINTR) continue;
        if (ended < 0) _exit(0);
        if (ended == function) {
            char told[1 + sizeof status] = "X";
            memcpy(told + 1, &status, sizeof status);
            tell(told, sizeof told, -1);
        }
    }
}

int main(int count, char **arguments) {
    struct world world = {.task = NULL, .tmp_image = -1, .tmp_mb = 512};
    int isolate = 0, network = 0, alone = 0, at = 1;
    uid_t user = getuid();
    gid_t group = getgid();
    const char *cgroups[8];
    int cgroup_count = 0;
    for (; at < count && strcmp(arguments[at], "--") != 0; at++) {
        const char *name = arguments[at], *value = at + 1 < count ? arguments[at + 1] : "";
        if (!strcmp(name, "--isolate")) isolate = 1;
        else if (!strcmp(name, "--network")) network = 1;
        else if (!strcmp(name, "--alone")) alone = 1;
        else {
            at++;
            if (!strcmp(name, "--channel")) channel = atoi(value);
            else if (!strcmp(name, "--cgroup") && cgroup_count < 8) cgroups[cgroup_count++] = value;
            else if (!strcmp(name, "--task")) world.task = value;
            else if (!strcmp(name, "--lang")) world.lang = value;
            else if (!strcmp(name, "--opt")) world.opt = value;
            else if (!strcmp(name, "--tmp-image")) world.tmp_image = atoi(value);
            else if (!strcmp(name, "--tmp-mb")) world.tmp_mb = atoi(value);
            else return 64;
        }
    }
    if (channel < 0 || fcntl(channel, F_SETFD, FD_CLOEXEC) < 0) return 64;
    /* The function must not hold the image below its mounted disk. */
    if (world.tmp_image >= 0 && fcntl(world.tmp_image, F_SETFD, FD_CLOEXEC) < 0) return 64;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is the emulator's to deal with */
    for (int one = 0; one < cgroup_count; one++) write_file(cgroups[one], "0");
    if (isolate) {
        int spaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
        if (!network) spaces |= CLONE_NEWNET;
        if (user != 0) spaces |= CLONE_NEWUSER;
        if (unshare(spaces) < 0) fail("cannot make", "namespaces");
        if (user != 0) become_nobody(user, group);
        if (!network) listen_inside();
    } else if (alone) {
        /* A network of its own and nothing else, for who makes the rest: to podman this is the host's. */
        if (unshare(CLONE_NEWNET) < 0) fail("cannot make", "a network namespace");
        listen_inside();
    }
    if (at + 1 >= count) return 64;
    char **program = arguments + at + 1;
    if (!isolate) {
        pid_t function = fork();
        if (function == 0) start(program, 0, "B");
        if (function < 0) fail("cannot start", program[0]);
        reap(function);
    }
    pid_t first = fork();
    if (first == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        tell("I", 1, -1);
        make_world(&world, USER, GROUP);
        start_extensions(user == 0);
        pid_t function = fork();
        if (function == 0) start(program, user == 0, "B");
        if (function < 0) fail("cannot start", program[0]);
        if (world.tmp_image >= 0) close(world.tmp_image);
        reap(function);
    }
    if (first < 0) fail("cannot start", "the first process");
    if (world.tmp_image >= 0) close(world.tmp_image);
    while (waitpid(first, NULL, 0) < 0 && errno == EINTR) {
    }
    return 0;
}
