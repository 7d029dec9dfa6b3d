// Counts the primes below a number: joulebox run primes.wasm 100000
//
// clang --target=wasm32-wasi --sysroot=/usr -O2 -Wl,--strip-all -o primes.wasm primes.c
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    char *composite = calloc(n + 1, 1);
    if (!composite) {
        fputs("no memory for that many: grant more with --memory\n", stderr);
        return 1;
    }
    unsigned long count = 0;
    for (unsigned long i = 2; i < n; i++) {
        if (composite[i]) continue;
        count++;
        for (unsigned long long j = (unsigned long long)i * i; j < n; j += i) composite[j] = 1;
    }
    printf("%lu primes below %lu\n", count, n);
}
