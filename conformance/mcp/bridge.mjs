// Serves over HTTP what a stdio server says, one process a session: the suite
// speaks only HTTP.
//
// usage: node bridge.mjs COMMAND [ARGS…]   (prints its own port)
import http from "node:http";
import { randomUUID } from "node:crypto";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const [command, ...args] = process.argv.slice(2);
const sessions = new Map();

async function open() {
  const up = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, up),
  });
  const down = new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
  up.onmessage = (m) => down.send(m).catch(() => {});
  down.onmessage = (m) => up.send(m).catch(() => {});
  up.onclose = () => {
    sessions.delete(up.sessionId);
    down.close();
  };
  await down.start();
  return up;
}

const server = http.createServer(async (req, res) => {
  const transport = sessions.get(req.headers["mcp-session-id"]) ?? (await open());
  await transport.handleRequest(req, res);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
