// Counts the primes below a number: joulebox run primes.js 100000
const n = Number(scriptArgs[1] ?? 100000);
const composite = new Uint8Array(n);
let count = 0;
for (let i = 2; i < n; i++) {
  if (composite[i]) continue;
  count++;
  for (let j = i * i; j < n; j += i) composite[j] = 1;
}
console.log(count, "primes below", n);
