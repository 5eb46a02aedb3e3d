// Requests to the server. A failure is a Fault, whatever made it.
import { signal } from "./html.js";

export class Fault extends Error {
  constructor(status, body) {
    super(body.message || body.detail || "The server answered with status " + status + ".");
    Object.assign(this, { status, code: body.code || "internal", hint: body.hint || "", path: body.path || "", details: body.details, retry: body.retry, line: body.line, column: body.column });
  }
}

// pending is how many requests have no answer yet.
export const pending = signal(0);

// signedOut becomes true when a session has ended.
export const signedOut = signal(false);

const unreachable = () => new Fault(0, { code: "service_unavailable", message: "The server does not answer.", hint: "Check that it runs, then try again." });

async function send(method, path, { body, file, headers, signal, accept } = {}) {
  const head = { "Koan-Console": "1", Accept: accept || "application/json", ...headers };
  if (body !== undefined && !head["Content-Type"]) head["Content-Type"] = "application/json";
  let response;
  pending.value++;
  try {
    response = await fetch(path, { method, headers: head, body: file || (body === undefined ? undefined : JSON.stringify(body)), signal, credentials: "same-origin", redirect: "error" });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw unreachable();
  } finally {
    pending.value--;
  }
  if (response.status === 401 && path !== "/console/session") signedOut.value = true;
  return response;
}

async function json(response) {
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch {
    return {};
  }
}

// request returns the body of a response, with the response's headers in `headers` of the second value.
export async function request(method, path, options) {
  const response = await send(method, path, options);
  const body = await json(response);
  if (!response.ok) throw new Fault(response.status, body && body.error ? body.error : body || {});
  return { body, headers: response.headers, status: response.status };
}

export const get = async (path, options) => (await request("GET", path, options)).body;
export const post = async (path, body = {}, options) => (await request("POST", path, { ...options, body })).body;
export const del = async (path, options) => (await request("DELETE", path, options)).body;

// upload keeps a file and returns what is known of it.
export const upload = async (file, set) =>
  (await request("POST", "/api/files?" + new URLSearchParams({ name: file.name, ...(set && { set }) }), { file, headers: { "Content-Type": file.type || "application/octet-stream" } })).body;

export async function text(path) {
  const response = await send("GET", path, { accept: "*/*" });
  if (!response.ok) throw new Fault(response.status, (await json(response)) || {});
  return response.text();
}

// tool calls a tool and returns {ok, result, error, meta}; failures of the tool itself are no exceptions.
export async function tool(name, input, { signal, progress } = {}) {
  const response = await send("POST", "/tools/" + name, { body: input, signal, accept: progress ? "text/event-stream" : undefined });
  if (!(response.headers.get("Content-Type") || "").startsWith("text/event-stream")) return envelope(await json(response), response.status);
  let last = null;
  for await (const event of events(response)) {
    if (event.name === "progress") progress(event.data.result);
    if (event.name === "result" || event.name === "error") last = event.data;
  }
  if (!last) throw unreachable();
  return envelope(last, 200);
}

function envelope(body, status) {
  if (!body || (!body._meta && !body.error)) throw new Fault(status, body || {});
  return { ok: body.ok, result: body.result || {}, error: body.error ? new Fault(status, body.error) : null, meta: body._meta || {} };
}

// events reads a stream of server-sent events.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const event = { name: "message", id: "", data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        const colon = line.indexOf(":");
        if (colon <= 0) continue;
        const value = line.slice(colon + 1).replace(/^ /, "");
        const field = line.slice(0, colon);
        if (field === "event") event.name = value;
        else if (field === "id") event.id = value;
        else if (field === "data") event.data += value;
      }
      rest = rest.slice(end + 2);
      if (!event.data && !event.id) continue;
      event.data = event.data ? JSON.parse(event.data) : null; // none where there is only an id to go on from
      yield event;
    }
  }
}

// stream opens a stream of events that ends with the signal.
export async function stream(path, options) {
  const response = await send("GET", path, { ...options, accept: "text/event-stream" });
  if (!response.ok) throw new Fault(response.status, (await json(response)) || {});
  return response;
}
