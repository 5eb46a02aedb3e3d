// Clients that declare that their user can be asked, and what becomes of it. Prints what one of
// them saw as one line of JSON.
//
//   node dialogs.mjs BEHAVIOUR CALL http://ADDRESS/mcp
//   node dialogs.mjs BEHAVIOUR CALL COMMAND [ARG...]
//
// works, none, hangs, drops, lies:N and tasks:ANSWER are clients of the official SDKs; where a
// client lies or drops, its transport is made to.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import * as modern from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";

const [behaviour, toolCall, ...server] = process.argv.slice(2);
const [kind, choice] = behaviour.split(":");
const { name, arguments: input } = JSON.parse(toolCall);
const web = server[0].startsWith("http");
const seen = { asked: [], progress: [] };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const finish = (more) => {
  console.log(JSON.stringify({ ...seen, ...more }));
  process.exit(0);
};

const yes = { action: "accept", content: { approve: true } };
const lies = [
  (id) => [{ id, result: { action: "accept", content: { approve: "yes" } } }],
  (id) => [{ id, result: { action: "accept", content: { Approve: true, approved: true } } }],
  (id) => [{ id, result: { action: "agree", content: { approve: true } } }],
  (id) => [{ id, result: { approve: true } }],
  (id) => [{ id, result: null }],
  (id) => [{ id, result: { role: "assistant", model: "m", content: { type: "text", text: "yes" } } }],
  (id) => [{ id, error: { code: -32601, message: "Method not found" } }],
  (id) => [{ id: id + 1000, result: yes }, { id: String(id), result: yes }],
  (id) => [{ id, result: { action: "decline" } }, { id, result: yes }],
];

if (kind === "tasks") {
  const info = { name: "tasks", version: "1.0.0" };
  const capabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
  const client = new modern.Client(info, { capabilities, versionNegotiation: { mode: "auto" } });
  const transport = web ? new modern.StreamableHTTPClientTransport(new URL(server[0])) : new ModernStdio({ command: server[0], args: server.slice(1), env: process.env, stderr: "ignore" });
  await client.connect(transport);
  const pending = new Map();
  const receive = transport.onmessage;
  transport.onmessage = (m, extra) => (pending.has(m.id) ? pending.get(m.id)(m) : receive(m, extra));
  let last = 0;
  const rawDispatch = async (request) => {
    const m = { jsonrpc: "2.0", ...request, id: `raw-${++last}` };
    if (!web) {
      return new Promise((resolve) => {
        pending.set(m.id, resolve);
        transport.send(m);
      });
    }
    const headers = {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
      "Mcp-Method": m.method, ...(m.params?.name || m.params?.taskId ? { "Mcp-Name": m.params.name ?? m.params.taskId } : {}),
    };
    const text = await (await fetch(server[0], { method: "POST", headers, body: JSON.stringify(m) })).text();
    return text.startsWith("{") ? JSON.parse(text) : JSON.parse(text.split("\n").filter((l) => l.startsWith("data: ")).pop().slice(6));
  };
  const session = createTaskSessionFromClient(client, {
    endpointId: "koan", rawDispatch, v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo: info, clientCapabilities: capabilities },
    onInputRequest: async (request) => {
      seen.asked.push(request.params.message);
      return choice === "hang" ? new Promise(() => {}) : { action: "accept", content: { approve: choice === "yes" } };
    },
  });
  const began = Date.now();
  const execution = await session.callTool(name, input);
  seen.kind = execution.kind;
  const states = [];
  if (choice === "hang") {
    let task;
    do {
      await sleep(200);
      task = await session.task(execution.handle.taskId).snapshot();
      states.push(task.status);
    } while (!["completed", "failed", "cancelled"].includes(task.status));
    finish({ ms: Date.now() - began, states, isError: task.raw.result.isError === true, body: task.raw.result.structuredContent });
  }
  const { outcome } = await execution.settle({ onEvent: (e) => states.push(e.task?.status ?? e.outcome.status) });
  finish({ ms: Date.now() - began, states, isError: outcome.result.isError === true, body: outcome.result.structuredContent });
}

const drop = new AbortController();
const open = async () => {
  // The stream of a call is aborted, and nothing else.
  const fetchAndDrop = (url, init) => (init?.body?.includes('"tools/call"') ? fetch(url, { ...init, signal: drop.signal }) : fetch(url, init));
  const transport = web
    ? new StreamableHTTPClientTransport(new URL(server[0]), { fetch: kind === "drops" ? fetchAndDrop : fetch })
    : new StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env, stderr: "ignore" });
  const client = new Client({ name: behaviour, version: "1.0.0" }, { capabilities: kind === "none" ? {} : { elicitation: {} } });
  await client.connect(transport);
  return { client, transport };
};
const { client, transport } = await open();
if (kind !== "none") {
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    seen.asked.push(request.params.message);
    return kind === "hangs" ? new Promise(() => {}) : yes;
  });
}
if (kind === "lies" || kind === "drops") {
  const receive = transport.onmessage;
  transport.onmessage = async (m, extra) => {
    if (m.method !== "elicitation/create") return receive(m, extra);
    seen.asked.push(m.params.message);
    if (kind === "lies") {
      for (const answer of lies[choice](m.id)) await transport.send({ jsonrpc: "2.0", ...answer }).catch(() => {});
      return;
    }
    if (!web) {
      await client.close();
      finish({});
    }
    await sleep(1100); // the progress names the run
    drop.abort();
    if (choice === "answer") await transport.send({ jsonrpc: "2.0", id: m.id, result: yes });
    await sleep(choice === "answer" ? 1500 : 2500);
    const other = new Client({ name: "again", version: "1.0.0" }, { capabilities: {} });
    await other.connect(new StreamableHTTPClientTransport(new URL(server[0])));
    const runId = seen.progress.map((p) => /plan (\S+)/.exec(p)?.[1]).find((id) => id);
    const r = await other.callTool({ name: "koan_code_status", arguments: { runId } });
    finish({ body: r.structuredContent });
  };
}
const began = Date.now();
const called = client.callTool({ name, arguments: input }, undefined, { onprogress: (p) => seen.progress.push(p.message ?? "") });
if (kind === "drops") await called.catch(() => new Promise(() => {}));
const r = await called;
finish({ ms: Date.now() - began, isError: r.isError === true, body: r.structuredContent });
