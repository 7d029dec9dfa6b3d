// Counts the primes below a number: joulebox run primes.wasm 100000
//
// npm install assemblyscript@0.28 @assemblyscript/wasi-shim@0.1
// npx asc primes.ts -O --config node_modules/@assemblyscript/wasi-shim/asconfig.json -o primes.wasm
const n: i32 = process.argv.length > 1 ? I32.parseInt(process.argv[1]) : 100000;
const composite = new StaticArray<bool>(n);
let count = 0;
for (let i = 2; i < n; i++) {
  if (unchecked(composite[i])) continue;
  count++;
  for (let j: i64 = i64(i) * i; j < n; j += i) unchecked((composite[i32(j)] = true));
}
console.log(count.toString() + " primes below " + n.toString());
