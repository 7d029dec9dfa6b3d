// What scripts expect of their surroundings beyond the language itself. QuickJS has
// console.log, and timers and files in its modules os and std.
(() => {
  const text = (values) => values.map((v) => (typeof v === "string" ? v : String(v))).join(" ") + "\n";
  const complain = (...values) => {
    std.err.puts(text(values));
    std.err.flush();
  };
  const hidden = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  console.info = console.debug = console.log;
  console.error = console.warn = complain;
  hidden("setTimeout", (f, ms, ...args) => os.setTimeout(() => f(...args), ms || 0));
  hidden("clearTimeout", (t) => t && os.clearTimeout(t));
  hidden("queueMicrotask", (f) => void Promise.resolve().then(f));
})();
