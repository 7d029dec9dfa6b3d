/* cat: copy files, or standard input when none is named, to standard output.
 * An ordinary C program; what it may open is decided outside, by the grants. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void say(const char *name, const char *what) {
  write(2, "cat: ", 5);
  write(2, name, strlen(name));
  write(2, ": ", 2);
  write(2, what, strlen(what));
  write(2, "\n", 1);
}

static const char *reason(void) {
  switch (errno) {
  case ENOENT: return "no such file";
  case EISDIR: return "is a directory";
  case EACCES: case EPERM: case ENOTCAPABLE: return "not permitted";
  default: return "cannot be read";
  }
}

static int copy(int in, const char *name) {
  static char buf[32768];
  for (;;) {
    ssize_t n = read(in, buf, sizeof buf);
    if (n == 0) return 0;
    if (n < 0) { say(name, reason()); return 1; }
    for (ssize_t done = 0, w; done < n; done += w)
      if ((w = write(1, buf + done, n - done)) < 0) { say("standard output", reason()); return 1; }
  }
}

int main(int argc, char **argv) {
  if (argc < 2) return copy(0, "standard input");
  int bad = 0;
  for (int i = 1; i < argc; i++) {
    int fd = open(argv[i], O_RDONLY);
    if (fd < 0) { say(argv[i], reason()); bad = 1; continue; }
    bad |= copy(fd, argv[i]);
    close(fd);
  }
  return bad;
}
