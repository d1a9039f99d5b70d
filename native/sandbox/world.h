/* The files that a function sees. */
#ifndef SANDBOX_WORLD_H
#define SANDBOX_WORLD_H

#include <sys/types.h>

struct world {
    const char *task; /* → /var/task */
    const char *lang; /* → /var/lang, where Lambda has its Python */
    const char *opt;  /* → /opt, the layers; may be NULL */
    int tmp_image;    /* a descriptor of a file with an ext4 for /tmp, or -1: then /tmp is memory */
    int tmp_mb;
};

/* Makes the file system and enters it; to be called by the first process of its namespaces. */
void make_world(const struct world *world, uid_t user, gid_t group);
int setgroups_none(void);

/* Tells the emulator what could not be done, with errno, and ends the process. */
void fail(const char *what, const char *which) __attribute__((noreturn));

#endif
