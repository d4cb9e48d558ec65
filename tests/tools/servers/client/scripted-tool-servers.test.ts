import { getEventListeners } from "node:events";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ToolServerRequest } from "../../../../simulator/tool-server/tool-server.ts";
import { createEgress } from "../../../../src/lib/egress/egress.ts";
import type { JsonObject } from "../../../../src/lib/json/json.ts";
import { createToolServerClient } from "../../../../src/tools/servers/client/create-tool-server-client.ts";
import type { ToolServerLink } from "../../../../src/tools/servers/client/tool-server-client.ts";
import { ToolServerFailure } from "../../../../src/tools/servers/client/tool-server-failure.ts";
import {
  startToolServer,
  type TestToolServer,
} from "../../../support/servers/start-tool-server.ts";

const MODES = ["modern", "json", "streams", "sessions"] as const;

let server: TestToolServer;
beforeAll(async () => {
  server = await startToolServer();
});
afterAll(() => server.stop());

const newClient = () =>
  createToolServerClient({
    egress: createEgress({ allow: ["127.0.0.1"] }),
    info: { name: "inference-gateway", version: "1.0.0" },
  });
let client = newClient();
const { signal } = new AbortController();

const linkTo = (more: Partial<ToolServerLink> = {}): ToolServerLink => ({
  url: server.url,
  headers: { Authorization: "Bearer secret-word" },
  timeoutMs: 30_000,
  ...more,
});
const call = (name: string, args: JsonObject = {}) => client.call(linkTo(), { name, args }, signal);

async function failureOf(work: Promise<unknown>): Promise<ToolServerFailure> {
  const outcome = await work.then(
    (value) => `it succeeded: ${JSON.stringify(value).slice(0, 200)}`,
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof ToolServerFailure) return outcome;
  throw new Error(`expected a ToolServerFailure, but: ${String(outcome)}`);
}

/** What the server got since then, as `method` or `method tool`. */
function since(start: number): string[] {
  return server
    .requests()
    .slice(start)
    .map(({ verb, method, tool }) => [method ?? verb, tool].filter(Boolean).join(" "));
}

const requestSince = (start: number, condition: (request: ToolServerRequest) => boolean) =>
  server.awaitRequest((one) => server.requests().indexOf(one) >= start && condition(one));
const isCancellation = ({ method }: ToolServerRequest) => method === "notifications/cancelled";

describe.each(MODES)("A tool server in the mode %s", (mode) => {
  beforeAll(() => {
    server.speak(mode);
    client = newClient();
  });

  it("is listed after it has been asked how it speaks, and then at once", async () => {
    const start = server.requests().length;
    const { tools: first } = await client.list(linkTo(), signal);
    const handshake = ["initialize", "notifications/initialized"];
    expect(since(start)).toEqual([
      "server/discover",
      ...(mode === "modern" ? [] : handshake),
      "tools/list",
    ]);
    const next = server.requests().length;
    expect((await client.list(linkTo(), signal)).tools).toEqual(first);
    expect(since(next)).toEqual(["tools/list"]);
  });

  it("runs a tool with one request", async () => {
    const start = server.requests().length;
    expect(await call("add", { a: 2, b: 40 })).toEqual({ text: "42" });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect(since(start)).toEqual(["tools/call add"]);
  });

  it("gets the configured headers and those of the protocol, and no others", async () => {
    const start = server.requests().length;
    await call("cookies");
    await call("echo", { text: "after a cookie" });
    const [, request] = server.requests().slice(start);
    const headers = request?.headers ?? {};
    expect(headers["authorization"]).toBe("Bearer secret-word");
    const own = ["accept", "accept-encoding", "connection", "content-length", "content-type"];
    const modern = ["mcp-method", "mcp-name"];
    const extra = { modern, json: [], streams: [], sessions: ["mcp-session-id"] }[mode];
    const names = [...own, "authorization", "host", "mcp-protocol-version", "user-agent", ...extra];
    expect(Object.keys(headers).sort()).toEqual(names.sort());
  });

  it("reports its failures as results, without addresses", async () => {
    expect(await call("failing")).toEqual({ text: "It broke.", isError: true });
    const refused = await call("refusing");
    expect(refused).toEqual({
      text: "The tool server reports: see [address] (error -32603)",
      isError: true,
    });
    expect(await call("nowhere")).toMatchObject({ isError: true });
  });

  it("has requests of its own answered: ping, and a refusal of everything else", async () => {
    const start = server.requests().length;
    expect(await call("asking")).toEqual({ text: "asked" });
    if (mode === "modern" || mode === "json") return;
    const answers = () =>
      server
        .requests()
        .slice(start)
        .map(({ message }) => message);
    const refusal = { code: -32601, message: "The gateway offers tools only." };
    await expect.poll(answers).toHaveLength(4);
    expect(answers()).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", id: "server-0", result: {} },
        { jsonrpc: "2.0", id: "server-1", error: refusal },
        { jsonrpc: "2.0", id: "server-2", error: refusal },
      ]),
    );
    expect((await failureOf(call("asking_on"))).message).toBe(
      "The tool server sent too many requests.",
    );
  });

  it.each([
    ["html", "protocol", /text\/html in place of JSON.*Check that its URL/],
    ["half_stream", "protocol", /before its answer was complete/],
    ["half_json", "protocol", /before its answer was complete/],
    ["empty_stream", "protocol", /ended its stream before the answer/],
    ["invalid_json", "protocol", /not valid JSON/],
    ["deep_json", "protocol", /nested too deeply/],
    ["compressed", "protocol", /compressed/],
    ["accepting", "protocol", /status 202 and nothing/],
    ["wrong_id", "protocol", /another request/],
    ["text_id", "protocol", /another request/],
    ["no_result", "protocol", /neither a result nor an error/],
    ["no_json_rpc", "protocol", /no JSON-RPC 2.0/],
    ["no_content", "protocol", /has no content/],
    ["huge", "too_large", /larger than 4 MiB/],
    ["redirecting", "redirect", /status 302.*not followed/],
  ] as const)("is refused as %s: %s", async (tool, reason, message) => {
    const failure = await failureOf(call(tool));
    expect(failure.message).toMatch(message);
    expect(failure.reason).toBe(reason);
    expect(failure.message).not.toMatch(/127\.0\.0\.1|169\.254|secret-word/);
    // Nothing of it stays behind, and the next call works.
    await expect.poll(() => server.openSockets()).toBe(0);
    expect(await call("echo", { text: "on" })).toEqual({ text: "on" });
  });

  it.each(["hanging", "hanging_stream", "slow"])(
    "sees the connection of a call to %s closed as soon as it is given up",
    async (tool) => {
      const start = server.requests().length;
      const leaving = new AbortController();
      const calling = client.call(linkTo(), { name: tool, args: {} }, leaving.signal);
      const request = await requestSince(start, (one) => one.tool === tool);
      expect(getEventListeners(leaving.signal, "abort")).toHaveLength(1);
      const leftAt = performance.now();
      leaving.abort(new Error("left"));
      await expect(calling).rejects.toThrow("left");
      await expect.poll(() => request.leftAt).toBeDefined();
      expect((request.leftAt ?? 0) - leftAt).toBeLessThan(10_000);
      expect(getEventListeners(leaving.signal, "abort")).toHaveLength(0);
      if (mode === "modern") return;
      const told = await requestSince(start, isCancellation);
      const { requestId } = told.message["params"] as JsonObject;
      expect(requestId).toBe(request.message["id"]);
      expect(told.headers["mcp-session-id"]).toBe(request.headers["mcp-session-id"]);
    },
  );

  it("is given up when the time of a call is over", async () => {
    const start = server.requests().length;
    const late = client.call(linkTo({ timeoutMs: 200 }), { name: "hanging", args: {} }, signal);
    const failure = await failureOf(late);
    expect([failure.reason, failure.message]).toEqual([
      "timeout",
      "The tool server did not answer within 0.2 seconds.",
    ]);
    if (mode !== "modern") await requestSince(start, isCancellation);
    await expect.poll(() => server.openSockets()).toBe(0);
  });
});

describe("A tool server that changes", () => {
  beforeEach(() => {
    client = newClient();
  });

  it("is asked again how it speaks when it refuses what it understood before", async () => {
    server.speak("sessions");
    expect(await call("echo", { text: "old" })).toEqual({ text: "old" });
    server.speak("modern");
    expect(await call("echo", { text: "new" })).toEqual({ text: "new" });
    server.speak("json");
    expect(await call("add", { a: 1, b: 1 })).toEqual({ text: "2" });
    server.speak("sessions");
    expect(await call("echo", { text: "session" })).toEqual({ text: "session" });
    server.forgetSessions();
    const start = server.requests().length;
    expect(await call("echo", { text: "again" })).toEqual({ text: "again" });
    expect(since(start).filter((name) => name === "tools/call echo")).toHaveLength(2);
  });

  it("has one session for calls that start together", async () => {
    server.speak("sessions");
    const start = server.requests().length;
    const texts = ["a", "b", "c", "d"];
    const answers = await Promise.all(texts.map((text) => call("echo", { text })));
    expect(answers.map(({ text }) => text)).toEqual(texts);
    expect(since(start).filter((name) => name === "initialize")).toHaveLength(1);
  });

  it("has its handshake repeated by another call when the first caller leaves amid it", async () => {
    server.speak("modern");
    server.hold("server/discover");
    const start = server.requests().length;
    const leaving = new AbortController();
    const first = client.list(linkTo(), leaving.signal);
    void first.catch(() => undefined);
    const discovery = await requestSince(start, ({ method }) => method === "server/discover");
    const second = call("echo", { text: "mine" });
    server.hold(undefined);
    leaving.abort(new Error("left"));
    await expect(first).rejects.toThrow("left");
    expect(await second).toEqual({ text: "mine" });
    expect(discovery.leftAt).toBeDefined();
    expect(since(start)).toEqual(["server/discover", "server/discover", "tools/call echo"]);
  });

  it("shows its new list, and is itself again after it died", async () => {
    server.speak("modern");
    server.offer(["changing"]);
    const described = async () => (await client.list(linkTo(), signal)).tools[0]?.description;
    const version = server.state.version;
    expect(await described()).toBe(`Version ${version}.`);
    server.change();
    expect(await described()).toBe(`Version ${version + 1}.`);
    await server.stop();
    const failure = await failureOf(client.list(linkTo(), signal));
    expect(failure.reason).toBe("unreachable");
    expect(failure.message).toContain("Check that it runs");
    await server.listen();
    expect(await described()).toBe(`Version ${version + 1}.`);
  });

  it.each([500, 501, 429])(
    "is older when it only answers %d to what it does not know",
    async (status) => {
      server.speak("json");
      server.failWith(status, "server/discover");
      const start = server.requests().length;
      const { tools } = await newClient().list(linkTo(), signal);
      server.failWith(undefined);
      expect(tools.length).toBeGreaterThan(0);
      expect(since(start)).toEqual([
        ...["server/discover", "initialize", "notifications/initialized", "tools/list"],
      ]);
    },
  );

  it.each([
    [401, "unauthorized", /Check the credentials in its headers/],
    [403, "unauthorized", /status 403/],
    [404, "refused", /status 404. Check that its URL/],
    [400, "refused", /status 400/],
    [429, "refused", /status 429. Try again later/],
    [500, "refused", /status 500. Try again later/],
    [301, "redirect", /status 301/],
    [308, "redirect", /status 308/],
  ] as const)("answers with status %d: %s", async (status, reason, message) => {
    server.failWith(status);
    const failures = [
      await failureOf(client.list(linkTo(), signal)),
      await failureOf(call("echo", { text: "x" })),
    ];
    server.failWith(undefined);
    for (const failure of failures) {
      expect(failure.reason).toBe(reason);
      expect(failure.message).toMatch(message);
    }
  });
});
