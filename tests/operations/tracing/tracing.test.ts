import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { callGateway, chatBody, openCall } from "../../support/clients/call-gateway.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { startRefused, TEST_KEY } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import {
  type CollectedSpan,
  startTraceCollector,
  type TraceCollector,
} from "../../support/servers/trace-collector.ts";
import { type Stage, startStage } from "../../support/stages/engine-stage.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const [SERVER, CLIENT] = [2, 3];
const CANARY = "canary-of-the-collector";
const CLOUD_KEY = "key-of-a-cloud";
const EVENTUALLY = { timeout: 20_000, interval: 50 };

let collector: TraceCollector;
let stage: Stage;
let cloud: TestSimulator;

beforeAll(async () => {
  collector = await startTraceCollector();
  cloud = await startSimulator({ engine: "openai", apiKey: CLOUD_KEY });
  stage = await startStage({
    engine: "vllm",
    models: [],
    simulator: {
      models: [
        { name: "traced", contextLength: 32_768, capabilities: ["completion"] },
        { name: "vectors", contextLength: 2_048, capabilities: ["embedding"] },
      ],
    },
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${CANARY}, x-team = one`,
      OTEL_SERVICE_NAME: "gateway under test",
      EMBEDDING_MODEL: "vectors",
      OPENAI_API_KEY: CLOUD_KEY,
      OPENAI_BASE_URL: `${cloud.url}/v1`,
      OPENAI_MODELS: "gpt-5",
    },
  });
});
afterAll(async () => {
  await stage.finish();
  await cloud.stop();
  await collector.close();
});

const call = (body: unknown, headers: Record<string, string> = {}) =>
  callGateway(stage.gateway.port, { body, headers });

/** The spans of one request, as soon as the collector has them. */
async function spansOf(requestId: string | undefined): Promise<{
  readonly server: CollectedSpan;
  readonly model: CollectedSpan | undefined;
}> {
  const find = () =>
    collector.spans.find((span) => span.attributes["gateway.request.id"] === requestId);
  await vi.waitFor(() => expect(find()).toBeDefined(), EVENTUALLY);
  const server = find() as CollectedSpan;
  return { server, model: collector.spans.find((span) => span.parentSpanId === server.spanId) };
}

const idOf = (response: RawResponse) => response.header("x-request-id");

describe("a request that is traced", () => {
  it("has a span of its own and one of the call to the model, in the trace of its client", async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=one" };
    const before = Date.now();
    const response = await call(chatBody("traced"), headers);
    const after = Date.now();
    const { server, model } = await spansOf(idOf(response));

    expect(server).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      kind: SERVER,
      name: "POST /v1/chat/completions",
      statusCode: 0,
    });
    expect(server.attributes).toMatchObject({
      "service.name": "gateway under test",
      "http.request.method": "POST",
      "http.route": "/v1/chat/completions",
      "http.response.status_code": 200,
    });
    const { usage } = response.json() as {
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    expect(model).toMatchObject({ traceId: TRACE, kind: CLIENT, name: "chat traced" });
    expect(model?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "vllm",
      "gen_ai.request.model": "traced",
      "gen_ai.response.model": "traced",
      "gen_ai.usage.input_tokens": usage.prompt_tokens,
      "gen_ai.usage.output_tokens": usage.completion_tokens,
      "gateway.channel": "chat",
      "gateway.outcome": "ok",
    });
    for (const span of [server, model]) {
      expect(span?.startMs).toBeGreaterThanOrEqual(before - 1);
      expect(span?.endMs).toBeLessThanOrEqual(after + 1_000);
      expect(span?.endMs).toBeGreaterThanOrEqual(span?.startMs ?? Number.NaN);
    }

    const asked = new Map(stage.simulator.ledger().at(-1)?.headers);
    expect(asked.get("traceparent")).toBe(`00-${TRACE}-${model?.spanId}-01`);
    expect(asked.get("tracestate")).toBe("vendor=one");
  });

  it("has its spans for a cloud, too, whose vendor is told of no trace", async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=one" };
    const response = await call(chatBody("gpt-5"), headers);
    expect(response.status).toBe(200);
    expect((await spansOf(idOf(response))).model).toMatchObject({
      traceId: TRACE,
      name: "chat gpt-5",
      attributes: { "gen_ai.provider.name": "openai" },
    });
    const headersThere = cloud.ledger().at(-1)?.headers ?? [];
    const asked = new Map(headersThere.map(([name, value]) => [name.toLowerCase(), value]));
    expect(asked.get("authorization")).toBe(`Bearer ${CLOUD_KEY}`);
    expect([asked.get("traceparent"), asked.get("tracestate")]).toEqual([undefined, undefined]);
  });

  it("begins a trace where its client has none, or sends rubbish", async () => {
    for (const traceparent of [undefined, "rubbish", `00-${"0".repeat(32)}-${PARENT}-01`]) {
      const headers: Record<string, string> = traceparent === undefined ? {} : { traceparent };
      const response = await call(chatBody("traced"), headers);
      const { server, model } = await spansOf(idOf(response));
      expect(server.parentSpanId).toBe("");
      expect(server.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(model?.traceId).toBe(server.traceId);
    }
  });

  it("is not recorded when its client says so, and the engine is told the same", async () => {
    const traceparent = `00-${TRACE.replace("4b", "5c")}-${PARENT}-00`;
    await call(chatBody("traced"), { traceparent });
    const asked = new Map(stage.simulator.ledger().at(-1)?.headers);
    expect(asked.get("traceparent")).toMatch(/^00-5cf9[0-9a-f]{28}-[0-9a-f]{16}-00$/);
    // Spans leave in the order in which they end: this one comes after whatever the other might have sent.
    await spansOf(idOf(await call(chatBody("traced"))));
    expect(collector.spans.filter(({ traceId }) => traceId.startsWith("5cf9"))).toEqual([]);
  });

  it("tells of a stream when it has ended, with the time to its first token", async () => {
    const response = await call(chatBody("traced", { stream: true }));
    const { model } = await spansOf(idOf(response));
    expect(model?.attributes["gateway.time_to_first_token_ms"]).toEqual(expect.any(Number));
    expect(model?.attributes["gen_ai.usage.output_tokens"]).toBeGreaterThan(0);
  });

  it("tells of failures: the engine's, the client's, and refusals before any model is called", async () => {
    stage.simulator.script({ match: { body: "fail-me" }, respond: { status: 500 } });
    const failed = await call(chatBody("traced", { user: "fail-me" }));
    expect(failed.status).toBe(502);
    const { server, model } = await spansOf(idOf(failed));
    expect(server).toMatchObject({ statusCode: 2, attributes: { "error.type": "502" } });
    expect(model).toMatchObject({ statusCode: 2, attributes: { "error.type": "upstream_error" } });
    expect(model?.attributes).not.toHaveProperty("gen_ai.response.model");

    stage.simulator.script({ match: { body: "wait-long" }, stall: { at: "headers" } });
    const left = await openCall(stage.gateway.port, {
      body: chatBody("traced", { user: "wait-long", stream: true }),
    });
    await vi.waitFor(
      () => expect(stage.simulator.ledger().at(-1)?.body).toContain("wait-long"),
      EVENTUALLY,
    );
    left.close();
    const aborted = () =>
      collector.spans.find((span) => span.attributes["gateway.outcome"] === "aborted");
    await vi.waitFor(() => expect(aborted()).toBeDefined(), EVENTUALLY);
    expect(aborted()).toMatchObject({ statusCode: 0, attributes: { "error.type": "aborted" } });

    const refused = await call("{");
    const spans = await spansOf(idOf(refused));
    expect(spans.server.attributes["http.response.status_code"]).toBe(400);
    expect(spans.model).toBeUndefined();
  });

  it("is one of embeddings, messages and responses too; probes and pages are not traced", async () => {
    const messages = await callGateway(stage.gateway.port, {
      path: "/v1/messages",
      body: chatBody("traced", { max_tokens: 9 }),
    });
    expect((await spansOf(idOf(messages))).model).toMatchObject({
      name: "chat traced",
      attributes: { "gateway.channel": "messages" },
    });
    const embeddings = await callGateway(stage.gateway.port, {
      path: "/v1/embeddings",
      body: { model: "vectors", input: "Hi" },
    });
    const { model } = await spansOf(idOf(embeddings));
    expect(model?.attributes["gen_ai.operation.name"]).toBe("embeddings");
    expect(model?.attributes["gen_ai.provider.name"]).toBe("vllm");
    expect(model?.name).toMatch(/^embeddings ./);
    expect(new Map(stage.simulator.ledger().at(-1)?.headers).get("traceparent")).toContain(
      model?.spanId,
    );

    for (const path of ["/v1/health", "/api/health", "/api/ready", "/v1/docs"]) {
      await callGateway(stage.gateway.port, { method: "GET", path });
    }
    await spansOf(idOf(await call(chatBody("traced"))));
    const routes = collector.spans.map((span) => span.attributes["http.route"]);
    expect(routes.filter((route) => /health|ready|docs/.test(String(route)))).toEqual([]);
  });
});

describe("the collector", () => {
  it("is sent the operator's headers, and never a body, a key or the headers of a client", async () => {
    await call(
      chatBody("traced", { messages: [{ role: "user", content: "canary-of-a-prompt" }] }),
      {
        "x-secret": "canary-of-a-header",
      },
    );
    await spansOf(idOf(await call(chatBody("traced"))));
    expect(collector.headers()).toMatchObject({
      authorization: `Bearer ${CANARY}`,
      "x-team": "one",
    });
    const told = JSON.stringify(collector.spans);
    for (const secret of [
      "canary-of-a-prompt",
      "canary-of-a-header",
      TEST_KEY,
      CANARY,
      stage.simulator.url,
    ]) {
      expect(told).not.toContain(secret);
    }
  });

  it("may fail: it is said once in the log, without its address, and no call notices", async () => {
    collector.answer(400);
    const lines = () =>
      stage.gateway.output().split("traces cannot be sent to the collector").length - 1;
    for (let index = 0; index < 3; index += 1) {
      const before = collector.requests();
      expect((await call(chatBody("traced"))).status).toBe(200);
      await vi.waitFor(() => expect(collector.requests()).toBeGreaterThan(before), EVENTUALLY);
    }
    await vi.waitFor(() => expect(lines()).toBe(1), EVENTUALLY);
    collector.answer(200);
    await vi.waitFor(async () => {
      await call(chatBody("traced"));
      expect(stage.gateway.output()).toContain("traces are sent to the collector again");
    }, EVENTUALLY);
    expect(stage.gateway.output()).not.toContain(collector.url);
    expect(stage.gateway.output()).not.toContain(CANARY);
  });

  it("gets at the stop what was not sent yet", async () => {
    const response = await call(chatBody("traced"));
    await stage.finish();
    await spansOf(idOf(response));
  });

  it("has to have headers that can be read", async () => {
    const { code, output } = await startRefused({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "no pair",
      PORT: "0",
    });
    expect(code).toBe(1);
    expect(output).toContain("OTEL_EXPORTER_OTLP_HEADERS");
    expect(output).not.toContain("no pair");
  });
});
