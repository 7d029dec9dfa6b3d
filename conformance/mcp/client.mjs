// A client that none of us wrote, against the server: tools, results under their
// schemas, errors, and many calls at once with cancellations. Prints what it
// checked; any failure ends it with an error.
//
// usage: node client.mjs stdio COMMAND [ARGS…]
//        node client.mjs http URL TOKEN PID
import { readFileSync, readdirSync } from "node:fs";
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [mode, ...rest] = process.argv.slice(2);
const examples = process.env.EXAMPLES;
const wasm = (name) => readFileSync(`${examples}/${name}/${name}.wasm`).toString("base64");

async function connect() {
  const client = new Client({ name: "conformance", version: "1" }, { capabilities: {} });
  let transport;
  if (mode === "stdio") {
    transport = new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env, stderr: "inherit" });
  } else {
    transport = new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } } });
  }
  await client.connect(transport);
  return { client, pid: mode === "stdio" ? transport.pid : Number(rest[2]) };
}

// What a process holds, as Linux shows it.
function held(pid) {
  if (process.platform !== "linux") return null;
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kb = Number(/VmRSS:\s+(\d+)/.exec(status)[1]);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return { files: readdirSync(`/proc/${pid}/fd`).length, kb, children: children.length };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function basics(client) {
  const { tools } = await client.listTools();
  const names = tools.map((t) => t.name);
  for (const want of ["run_wasm", "run_code", "verify_eat", "verify_bundle", "explain_grants", "list_runs", "get_run"]) {
    assert(names.includes(want), `no tool ${want}`);
  }
  for (const t of tools) {
    assert(t.outputSchema, `${t.name} has no outputSchema`);
    for (const word of ["oneOf", "anyOf", "allOf"]) assert(!(word in t.inputSchema), `${t.name}: ${word} at the top`);
  }
  const run = await client.callTool({ name: "run_wasm", arguments: { wasm_base64: wasm("hello") } });
  const r = run.structuredContent;
  assert.equal(run.isError ?? false, false);
  assert.equal(r.outcome, "Completed");
  assert.equal(r.tier, "S2");
  assert.equal(r.stdout.data, "hello from inside\n");
  assert(JSON.stringify(run).length < 12_000, "the result isn't small");

  const link = run.content.find((c) => c.type === "resource_link");
  const { contents } = await client.readResource({ uri: link.uri });
  const bundle = JSON.parse(contents[0].text);
  const verified = await client.callTool({ name: "verify_bundle", arguments: { bundle } });
  assert.equal(verified.structuredContent.verdict, "valid");
  const eat = await client.callTool({ name: "verify_eat", arguments: { eat: r.eat.hex, public_key: r.verifying_keys[0].public_key } });
  assert.equal(eat.structuredContent.claims.attestation_id, r.attestation_id);
  bundle.result.stdout_b3 = bundle.result.stderr_b3;
  const spoiled = await client.callTool({ name: "verify_bundle", arguments: { bundle } });
  assert.equal(spoiled.structuredContent.verdict, "invalid");
  assert.equal(spoiled.structuredContent.record, undefined);

  const wrong = await client.callTool({ name: "run_wasm", arguments: { storage_read: ["/etc/**"], clok: true } });
  assert.equal(wrong.isError, true);
  assert.match(wrong.content[0].text, /clok/);
  await assert.rejects(client.callTool({ name: "nope", arguments: {} }), (e) => e.code === -32602);

  const listed = await client.callTool({ name: "list_runs", arguments: {} });
  assert(listed.structuredContent.runs.some((x) => x.attestation_id === r.attestation_id));
  const got = await client.callTool({ name: "get_run", arguments: { run: r.attestation_id } });
  assert.equal(got.structuredContent.receipt_id, r.receipt_id);
  console.log(`${mode}: tools, results, errors, resources: ok`);
}

async function progress(client) {
  let seen = 0;
  const options = { onprogress: () => seen++, timeout: 20_000 };
  const r = await client.callTool({ name: "run_wasm", arguments: { wasm_base64: wasm("spin"), cpu_time_ms: 2500, energy_budget_uj: 1_000_000_000 } }, undefined, options);
  assert.equal(r.structuredContent.outcome, "Terminated");
  assert.equal(r.isError ?? false, false);
  assert(seen >= 1, "no progress of a long run");
  console.log(`${mode}: ${seen} progress notifications of a run that reached its budget: ok`);
}

// 200 at once: half of them short, half of them endless and cancelled.
async function many(client) {
  const hello = { name: "run_wasm", arguments: { wasm_base64: wasm("hello") } };
  const spin = { name: "run_wasm", arguments: { wasm_base64: wasm("spin"), cpu_time_ms: 60_000 } };
  const calls = [];
  for (let i = 0; i < 200; i++) {
    if (i % 2 === 0) {
      calls.push(client.callTool(hello, undefined, { timeout: 60_000 }).then((r) => assert.equal(r.structuredContent.outcome, "Completed")));
      continue;
    }
    const stop = new AbortController();
    setTimeout(() => stop.abort("enough"), 50 + Math.random() * 400);
    calls.push(client.callTool(spin, undefined, { signal: stop.signal, timeout: 60_000 }).then(() => assert.fail("an endless unit ended"), () => {}));
  }
  await Promise.all(calls);
}

async function leaks(client, pid) {
  await many(client);
  await pause(1000);
  const before = held(pid);
  const started = Date.now();
  for (let i = 0; i < 3; i++) await many(client);
  const took = Date.now() - started;
  await pause(1500);
  const after = held(pid);
  if (before) {
    assert(after.files <= before.files + 8, `files: ${before.files} before, ${after.files} after`);
    assert(after.children <= before.children, `children: ${before.children} before, ${after.children} after`);
    assert(after.kb <= before.kb * 1.5 + 30_000, `memory: ${before.kb} kB before, ${after.kb} kB after`);
  }
  const { total } = (await client.callTool({ name: "list_runs", arguments: { limit: 1 } })).structuredContent;
  assert(total > 400, `${total} runs recorded, cancelled ones included`);
  console.log(`${mode}: 3 times 200 calls at once, half cancelled, ${took} ms; ${JSON.stringify(before)} before, ${JSON.stringify(after)} after: ok`);
}

const { client, pid } = await connect();
await basics(client);
await progress(client);
await leaks(client, pid);
await client.close();
if (mode === "stdio") {
  for (let i = 0; i < 20; i++) {
    try {
      process.kill(pid, 0);
    } catch {
      console.log("stdio: the server is gone with its client: ok");
      process.exit(0);
    }
    await pause(100);
  }
  assert.fail("the server outlives its client");
}
process.exit(0);
