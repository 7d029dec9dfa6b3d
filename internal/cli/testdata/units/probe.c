/* probe: does one thing that the scripts want to see allowed or denied, and
 * prints what came of it. Built by build.sh. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void put(int fd, const char *s) { write(fd, s, strlen(s)); }
static void line(const char *s) { put(1, s); put(1, "\n"); }

static void number(unsigned long long n) {
  char buf[24], *p = buf + sizeof buf;
  *--p = 0;
  do *--p = '0' + n % 10; while (n /= 10);
  line(p);
}

static int done(int failed) {
  if (!failed) { line("ok"); return 0; }
  put(1, "errno "); number(errno);
  return 1;
}

static int copy(void) {
  static char buf[65536];
  ssize_t n;
  while ((n = read(0, buf, sizeof buf)) > 0)
    for (ssize_t at = 0, w; at < n; at += w)
      if ((w = write(1, buf + at, n - at)) < 0) return done(1);
  return n < 0 ? done(1) : 0;
}

static int list(const char *path) {
  DIR *d = opendir(path);
  struct dirent *e;
  if (!d) return done(1);
  while ((e = readdir(d))) if (e->d_name[0] != '.') line(e->d_name);
  closedir(d);
  return 0;
}

static int put_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return done(1);
  return done(write(fd, text, strlen(text)) < 0 || close(fd));
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  const char *one = argc > 2 ? argv[2] : "";
  if (!strcmp(what, "exit")) return atoi(one);
  if (!strcmp(what, "trap")) __builtin_trap();
  if (!strcmp(what, "args")) for (int i = 0; i < argc; i++) line(argv[i]);
  if (!strcmp(what, "env")) for (char **e = environ; e && *e; e++) line(*e);
  if (!strcmp(what, "copy")) return copy();
  if (!strcmp(what, "stderr")) put(2, one);
  if (!strcmp(what, "ls")) return list(one);
  if (!strcmp(what, "write")) return put_file(one, argc > 3 ? argv[3] : "");
  if (!strcmp(what, "rm")) return done(unlink(one));
  if (!strcmp(what, "mkdir")) return done(mkdir(one, 0755));
  if (!strcmp(what, "mv")) return done(rename(one, argc > 3 ? argv[3] : ""));
  if (!strcmp(what, "link")) return done(symlink(one, argc > 3 ? argv[3] : ""));
  if (!strcmp(what, "random")) { unsigned long long r = 0; return done(getentropy(&r, sizeof r)); }
  if (!strcmp(what, "clock")) {
    struct timespec t;
    if (clock_gettime(CLOCK_REALTIME, &t)) return done(1);
    number(t.tv_sec);
  }
  if (!strcmp(what, "sleep")) return done(usleep(1000 * atoi(one)));
  return 0;
}
