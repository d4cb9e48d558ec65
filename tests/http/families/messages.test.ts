import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  parseCountRequest,
  parseRequest,
} from "../../../src/codecs/messages/server/parse-request.ts";
import {
  messageEventSchema,
  messageSchema,
} from "../../../src/codecs/messages/server/wire-answer.ts";
import {
  MESSAGE_EXAMPLE,
  MESSAGE_EXAMPLES,
  TOKEN_COUNT_EXAMPLES,
} from "../../../src/http/families/documentation/message-examples.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { readMessageStream } from "../../support/clients/message-stream.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { readUsageRows } from "../../support/stages/usage/stored-usage.ts";

const KEEPALIVE_MS = 200;
const MAX_BODY_BYTES = 10_000;
const JSON_TYPE = { "content-type": "application/json" };

const body = {
  model: "sim-chat",
  max_tokens: 1_024,
  messages: [{ role: "user", content: "Say: one two three" }],
};

describe("the messages family", () => {
  let simulator: TestSimulator;
  let gateway: TestGateway;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "messages-"));
    simulator = await startSimulator({ engine: "vllm" });
    gateway = await startGateway({
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: simulator.url,
      DATA_DIR: dataDir,
      STREAM_KEEPALIVE_MS: String(KEEPALIVE_MS),
      GATEWAY_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await simulator?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const post = (given: unknown, path = "/v1/messages", headers: Record<string, string> = {}) =>
    fetch(gateway.url + path, {
      method: "POST",
      headers: { "x-api-key": TEST_KEY, ...JSON_TYPE, ...headers },
      body: typeof given === "string" ? given : JSON.stringify(given),
    });

  it.each([
    ["GET /v1/messages", "", 405, "invalid_request_error"],
    ["DELETE /v1/messages/count_tokens", "", 405, "invalid_request_error"],
    ["POST /v1/messages/batches", "{}", 404, "not_found_error"],
    ["POST /v1/v1/messages", "{}", 404, "not_found_error"],
    ["POST /v1/messages//x", "{}", 400, "invalid_request_error"],
    ["POST /v1/messages", "{", 400, "invalid_request_error"],
    ["POST /v1/messages", `{"a":${"[".repeat(200)}`, 400, "invalid_request_error"],
    ["POST /v1/messages", "x".repeat(MAX_BODY_BYTES + 1), 413, "request_too_large"],
    ["POST /v1/messages/count_tokens", "{}", 400, "invalid_request_error"],
  ])("speaks its form of errors: %s %.9s is %i", async (line, given, status, type) => {
    const [method = "", path = ""] = line.split(" ");
    const response = await callGateway(gateway.port, { method, path, body: given });
    expect(response.status).toBe(status);
    expect(response.header("content-type")).toBe("application/json");
    expect(response.header("request-id")).toBe(response.header("x-request-id"));
    if (status === 405) expect(response.header("allow")).toBe("POST");
    expect(response.json()).toEqual({
      type: "error",
      error: { type, message: expect.stringMatching(/\w+ \w+/) },
      request_id: response.header("request-id"),
    });
  });

  it("speaks it of the content type and of a missing key as well", async () => {
    const typed = await post(body, "/v1/messages", { "content-type": "text/plain" });
    expect([typed.status, await typed.json()]).toMatchObject([
      415,
      {
        error: { type: "invalid_request_error", message: expect.stringContaining("Content-Type") },
      },
    ]);
    for (const path of ["/v1/messages", "/v1/messages/count_tokens?beta=true"]) {
      const keyless = await fetch(gateway.url + path, { method: "POST", headers: JSON_TYPE });
      expect(keyless.headers.get("www-authenticate")).toBe("Bearer");
      expect([keyless.status, await keyless.json()]).toMatchObject([
        401,
        { error: { type: "authentication_error" } },
      ]);
    }
  });

  it("leaves the other families their own form", async () => {
    const response = await fetch(`${gateway.url}/v1/messagesx`);
    expect(response.headers.has("request-id")).toBe(false);
    expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
  });

  it.each(["HEAD", "GET"])("answers %s /api/hello before there is a key", async (method) => {
    const response = await fetch(`${gateway.url}/api/hello`, { method });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  it("fills the engine's silence with pings, before the first event too", async () => {
    simulator.script({ text: "late", latencyMs: KEEPALIVE_MS * 4 });
    const response = await post({ ...body, stream: true });
    const text = await response.text();
    expect(text.startsWith("event: ping\n")).toBe(true);
    expect(readMessageStream(text)).toMatchObject({ blocks: [{ text: "late" }] });
  });

  it("says an error in the stream when the status is gone", async () => {
    const respond = { status: 400, body: { error: { message: "no such thing", code: 400 } } };
    simulator.script({ latencyMs: KEEPALIVE_MS * 4, respond });
    const response = await post({ ...body, stream: true });
    expect(response.status).toBe(200);
    const { error, end } = readMessageStream(await response.text());
    expect(error?.type).toBe("invalid_request_error");
    expect(end).toBeUndefined();
  });

  it("answers as its documentation says, whole and streaming", async () => {
    const thinking = { model: "sim-thinker", thinking: { type: "adaptive" } };
    for (const more of [{}, thinking]) {
      messageSchema.parse(await (await post({ ...body, ...more })).json());
      const text = await (await post({ ...body, ...more, stream: true })).text();
      for (const [, data = ""] of text.matchAll(/^data: (.*)$/gm)) {
        messageEventSchema.parse(JSON.parse(data));
      }
    }
    messageSchema.parse(MESSAGE_EXAMPLE);
  });

  it("documents examples that are right", async () => {
    for (const { value } of Object.values(MESSAGE_EXAMPLES)) {
      expect(parseRequest(value, "").request.messages.length).toBeGreaterThan(0);
    }
    for (const { value } of Object.values(TOKEN_COUNT_EXAMPLES)) {
      expect(parseCountRequest(value, "").tools).toHaveLength(1);
    }
    const document = (await (await fetch(`${gateway.url}/v1/openapi.json`)).json()) as {
      paths: Record<
        string,
        { post: { requestBody: { content: Record<string, { schema: object }> } } }
      >;
    };
    const fieldsOf = (path: string) =>
      document.paths[path]?.post.requestBody.content["application/json"]?.schema;
    expect(fieldsOf("/v1/messages")).toMatchObject({
      required: ["messages", "max_tokens"],
      properties: { thinking: {}, output_config: {}, system: {}, tools: {}, stop_sequences: {} },
    });
    expect(fieldsOf("/v1/messages/count_tokens")).toMatchObject({ required: ["messages"] });
  });

  it("writes a usage row for each answer and none for a count", async () => {
    const counted = { ...body, model: "sim-small" };
    await post(counted, "/v1/messages/count_tokens?beta=true");
    await post(body);
    await gateway.stop();
    const rows = await readUsageRows({ DATA_DIR: dataDir });
    expect(rows.at(-1)).toMatchObject({ channel: "messages", model: "sim-chat", outcome: "ok" });
    expect(rows.filter(({ model }) => model === "sim-small")).toEqual([]);
  });
});
