// What scripts expect of their surroundings beyond the language itself, as far as it
// can be had: a console that shows values, timers, process. Files and streams are in
// QuickJS's own modules, std and os.
(() => {
  const hidden = (on, name, value) => Object.defineProperty(on, name, { value, writable: true, configurable: true });
  const key = (k) => (typeof k === "symbol" ? `[${String(k)}]` : /^[A-Za-z_$][\w$]*$/.test(k) ? k : JSON.stringify(k));
  const width = 72;
  // fill puts short items side by side.
  const fill = (items) => {
    const lines = [];
    for (const item of items) {
      const last = lines.length - 1;
      if (last >= 0 && `${lines[last]}, ${item}`.length <= width) lines[last] += `, ${item}`;
      else lines.push(item);
    }
    return lines;
  };
  const list = (open, items, close) => {
    if (items.length === 0) return open + close;
    const line = `${open} ${items.join(", ")} ${close}`;
    if (line.length <= width && !line.includes("\n")) return line;
    const lines = items.length > 6 && items.every((i) => i.length <= 16) ? fill(items) : items;
    return `${open}\n  ${lines.join(",\n").replace(/\n/g, "\n  ")}\n${close}`;
  };

  // show is a value as people read it. seen are the objects around it.
  const show = (v, seen) => {
    if (typeof v === "string") return seen.length ? JSON.stringify(v) : v;
    if (typeof v === "bigint") return `${v}n`;
    if (typeof v === "function") return `[${/^class\b/.test(v) ? "class" : "Function"}: ${v.name || "(anonymous)"}]`;
    if (typeof v !== "object" || v === null) return Object.is(v, -0) ? "-0" : String(v);
    if (seen.includes(v)) return "[Circular]";
    if (v instanceof Error) return `${v}\n${v.stack || ""}`.trimEnd();
    if (v instanceof Date) return isNaN(v) ? "Invalid Date" : v.toISOString();
    if (v instanceof RegExp) return String(v);
    if (seen.length > 4) return Array.isArray(v) ? "[Array]" : "[Object]";
    const inside = [...seen, v];
    const one = (x) => show(x, inside);
    if (Array.isArray(v) || ArrayBuffer.isView(v)) {
      const items = Array.from(v).slice(0, 100).map(one);
      if (v.length > 100) items.push(`... ${v.length - 100} more`);
      return (Array.isArray(v) ? "" : `${v.constructor.name}(${v.length}) `) + list("[", items, "]");
    }
    if (v instanceof Map) return list(`Map(${v.size}) {`, [...v].map(([k, x]) => `${one(k)} => ${one(x)}`), "}");
    if (v instanceof Set) return list(`Set(${v.size}) {`, [...v].map(one), "}");
    if (v instanceof Promise) return "Promise {}";
    const kind = Object.getPrototypeOf(v)?.constructor?.name;
    const open = kind && kind !== "Object" ? `${kind} {` : "{";
    return list(open, Reflect.ownKeys(v).filter((k) => Object.getOwnPropertyDescriptor(v, k)?.enumerable).map((k) => {
      const p = Object.getOwnPropertyDescriptor(v, k);
      return `${key(k)}: ${p.get ? "[Getter]" : one(p.value)}`;
    }), "}");
  };
  const to = (stream) => (...values) => {
    stream.puts(values.map((v) => show(v, [])).join(" ") + "\n");
    stream.flush();
  };
  console.log = console.info = console.debug = to(std.out);
  console.error = console.warn = to(std.err);
  console.assert = (ok, ...values) => ok || console.error("Assertion failed", ...values);

  const set = globalThis;
  hidden(set, "setTimeout", (f, ms, ...args) => os.setTimeout(() => f(...args), ms || 0));
  hidden(set, "clearTimeout", (t) => void (t && os.clearTimeout(t)));
  hidden(set, "setInterval", (f, ms, ...args) => {
    const timer = {};
    const again = () => {
      timer.next = os.setTimeout(() => (again(), f(...args)), ms || 1);
    };
    again();
    return timer;
  });
  hidden(set, "clearInterval", (t) => void (t && os.clearTimeout(t.next)));
  hidden(set, "queueMicrotask", (f) => void Promise.resolve().then(f));
  const writer = (stream) => ({ write: (text) => (stream.puts(text), stream.flush(), true), isTTY: false });
  hidden(set, "process", {
    get argv() { return ["qjs", ...scriptArgs]; },
    get env() { return std.getenviron(); },
    platform: "wasi",
    exit: (code) => std.exit(code ?? 0),
    cwd: () => os.getcwd()[0],
    stdout: writer(std.out),
    stderr: writer(std.err),
  });
})();
