"""Counts the primes below a number: joulebox run primes.py 100000"""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
composite = bytearray(n)
count = 0
for i in range(2, n):
    if composite[i]:
        continue
    count += 1
    composite[i * i :: i] = b"\1" * len(range(i * i, n, i))
print(count, "primes below", n)
