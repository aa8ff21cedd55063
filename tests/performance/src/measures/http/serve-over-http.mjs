// Serves an MCP server that was written for standard input and output over Streamable HTTP: as it is, with the transport of the
// official SDK in place of the one it chose. Each transport session has a server of its own.
//
//     node serve-over-http.mjs ENTRY ARGUMENTS…
//
// Prints the address when it listens. The arguments are those of the server.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const entry = pathToFileURL(process.argv[2]).href;
// What the server sees is what it would see if it was started itself.
process.argv.splice(1, 1);

// The server connects to a transport when it is loaded; it is given another one.
const connect = McpServer.prototype.connect;
let next;
McpServer.prototype.connect = function () {
  return connect.call(this, next);
};

const sessions = new Map();

async function begin() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  next = transport;
  // Another address is another module, so another server; what it imports is shared.
  await import(`${entry}?${sessions.size}-${randomUUID()}`);
  return transport;
}

// One after the other, so that each is given its own transport.
let turn = Promise.resolve();

const listener = createServer((request, response) => {
  const known = sessions.get(request.headers["mcp-session-id"]);
  if (known) {
    known.handleRequest(request, response);
    return;
  }
  turn = turn.then(begin).then((transport) => transport.handleRequest(request, response));
});
listener.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${listener.address().port}`));
