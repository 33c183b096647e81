/* A stand-in for a disk that loses power: preloaded into a process, it keeps in the folder of the
   variable DURABLE only what fsync and fdatasync brought to the disk. Contents of a file count from
   its own last synchronisation, names in a folder from that of the folder. Written by inode and time
   of birth, as inodes are used again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void key_of(int folder, const char *name, int flags, char *key, mode_t *mode) {
  struct statx found;
  key[0] = 0;
  if (statx(folder, name, flags, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) return;
  *mode = found.stx_mode;
  snprintf(key, 80, "%llu-%lld-%u", (unsigned long long)found.stx_ino,
           (long long)found.stx_btime.tv_sec, found.stx_btime.tv_nsec);
}

static void keep_contents(FILE *out, int descriptor) {
  char path[64], block[65536];
  ssize_t got;
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  int in = open(path, O_RDONLY | O_CLOEXEC);
  while (in >= 0 && (got = read(in, block, sizeof block)) > 0) fwrite(block, 1, got, out);
  if (in >= 0) close(in);
}

static void keep_names(FILE *out, const char *path) {
  char key[80];
  mode_t mode;
  struct dirent *entry;
  DIR *folder = opendir(path);
  while (folder != NULL && (entry = readdir(folder)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    key_of(dirfd(folder), entry->d_name, AT_SYMLINK_NOFOLLOW, key, &mode);
    if (key[0]) fprintf(out, "%s %c %s\n", key, S_ISDIR(mode) ? 'd' : 'f', entry->d_name);
  }
  if (folder != NULL) closedir(folder);
}

static void keep(int descriptor) {
  const char *durable = getenv("DURABLE");
  char key[80], link[64], path[PATH_MAX], name[2 * PATH_MAX], temporary[2 * PATH_MAX + 8];
  mode_t mode;
  key_of(descriptor, "", AT_EMPTY_PATH, key, &mode);
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (durable == NULL || !key[0] || length < 0) return;
  path[length] = 0;
  snprintf(name, sizeof name, "%s/%s", durable, key);
  snprintf(temporary, sizeof temporary, "%s.%d", name, (int)gettid());
  FILE *out = fopen(temporary, "wb");
  if (out == NULL) abort();
  if (S_ISDIR(mode)) keep_names(out, path);
  else keep_contents(out, descriptor);
  fclose(out);
  rename(temporary, name);
}

int fsync(int descriptor) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  int result = real(descriptor);
  if (result == 0) keep(descriptor);
  return result;
}

int fdatasync(int descriptor) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  int result = real(descriptor);
  if (result == 0) keep(descriptor);
  return result;
}
