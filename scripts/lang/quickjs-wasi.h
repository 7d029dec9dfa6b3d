/* What QuickJS's "os" and "std" modules expect of a system and WASI preview 1 has
   not: processes, terminals, signals. Each call fails with ENOSYS, which scripts
   see as an error of the call. Included before every source file of QuickJS. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define SHIM static inline __attribute__((unused))
#define NOSYS(result) { errno = ENOSYS; return result; }

typedef void (*sighandler_t)(int);
typedef int joulebox_pid;

struct termios { unsigned c_iflag, c_oflag, c_cflag, c_lflag; unsigned char c_cc[32]; };
struct winsize { unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel; };
enum { TCSANOW, VMIN, VTIME, TIOCGWINSZ, WNOHANG = 1, RTLD_NOW, RTLD_GLOBAL, RTLD_LOCAL };
enum { IGNBRK = 1, BRKINT = 2, PARMRK = 4, ISTRIP = 8, INLCR = 16, IGNCR = 32, ICRNL = 64, IXON = 128, OPOST = 1,
       ECHO = 1, ECHONL = 2, ICANON = 4, IEXTEN = 8, CSIZE = 1, PARENB = 2, CS8 = 4 };
#define WEXITSTATUS(s) (s)

SHIM int tcgetattr(int fd, struct termios *t) NOSYS(-1)
SHIM int tcsetattr(int fd, int how, const struct termios *t) NOSYS(-1)
SHIM joulebox_pid fork(void) NOSYS(-1)
SHIM joulebox_pid waitpid(joulebox_pid pid, int *status, int flags) NOSYS(-1)
SHIM int kill(joulebox_pid pid, int sig) NOSYS(-1)
SHIM int pipe(int fds[2]) NOSYS(-1)
SHIM int dup(int fd) NOSYS(-1)
SHIM int dup2(int from, int to) NOSYS(-1)
SHIM int execve(const char *path, char *const args[], char *const env[]) NOSYS(-1)
SHIM int setuid(unsigned id) NOSYS(-1)
SHIM int setgid(unsigned id) NOSYS(-1)
SHIM FILE *popen(const char *command, const char *mode) NOSYS(NULL)
SHIM int pclose(FILE *f) NOSYS(-1)
SHIM char *realpath(const char *path, char *resolved) NOSYS(NULL)
SHIM void *dlopen(const char *path, int flags) NOSYS(NULL)
SHIM int dlclose(void *handle) NOSYS(-1)
SHIM void *dlsym(void *handle, const char *name) NOSYS(NULL)
SHIM char *dlerror(void) { return "no native modules here"; }
