// Adds the bearer token to every request and changes nothing else: the suites have
// no flag for one.
//
// usage: node proxy.mjs TARGET TOKEN   (prints its own port)
import http from "node:http";

const [target, token] = process.argv.slice(2);
const to = new URL(target);

const server = http.createServer((req, res) => {
  const headers = { ...req.headers, authorization: `Bearer ${token}` };
  const out = http.request({ host: to.hostname, port: to.port, path: req.url, method: req.method, headers }, (answer) => {
    res.writeHead(answer.statusCode, answer.headers);
    answer.pipe(res);
  });
  out.on("error", () => res.destroy());
  res.on("close", () => out.destroy());
  req.pipe(out);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
