// Calls programs on V8, for the comparison in bench. It answers lines on standard
// input: "load FILE" with "ok", "run N" with the nanoseconds that run(N) took and
// what it returned.
const fs = require('node:fs');
const lines = require('node:readline').createInterface({ input: process.stdin });
let run;
lines.on('line', (line) => {
  const [word, rest] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
  try {
    if (word === 'load') {
      run = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(rest)), {}).exports.run;
      process.stdout.write('ok\n');
      return;
    }
    const start = process.hrtime.bigint();
    const result = run(Number(rest));
    process.stdout.write(`${process.hrtime.bigint() - start} ${result}\n`);
  } catch (e) {
    process.stdout.write(`error ${String(e).replaceAll('\n', ' ')}\n`);
  }
});
