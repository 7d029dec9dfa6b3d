/* The interactive shell of qjs isn't built in; qjs.c names what would hold it. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

const uint8_t qjsc_repl[1] = {0}, qjsc_qjscalc[1] = {0};
const uint32_t qjsc_repl_size = 1, qjsc_qjscalc_size = 1;

FILE *tmpfile(void) {
    errno = ENOSYS;
    return NULL;
}
