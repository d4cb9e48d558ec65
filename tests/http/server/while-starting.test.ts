import { describe, expect, it } from "vitest";
import { buildOpenApiDocument } from "../../../scripts/openapi-documents.ts";
import { createStartingAnswer } from "../../../src/http/server/while-starting.ts";
import { findUndocumented } from "../../support/clients/documented-answer.ts";

const answer = createStartingAnswer({
  version: "1.2.3",
  settings: { LLM_BACKEND: "vllm", CONSOLE_ENABLED: true },
});

async function ask(path: string) {
  const connection = { host: "gateway", path, peer: () => null, allowSilence: () => () => {} };
  const response = await answer(new Request(`http://gateway${path}`), connection);
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  expect(response.headers.get("connection")).toBe("close");
  return { response, body: (await response.json()) as unknown };
}

describe("A server that has its port and is not started", () => {
  it("is alive, and not ready", async () => {
    const health = await ask("/api/health");
    expect(health.response.status).toBe(200);
    expect(health.body).toEqual({
      status: "starting",
      version: "1.2.3",
      backend: "vllm",
      license: null,
    });
    const service = await ask("/v1/health");
    expect([service.response.status, service.body]).toEqual([
      200,
      { ok: false, license: null, llm: { backend: "vllm", reachable: false } },
    ]);
    const ready = await ask("/api/ready");
    expect(ready.response.status).toBe(503);
    expect(ready.body).toMatchObject({ ready: false, failed: ["starting"], checks: { db: false } });
  });

  it.each([
    ["console", "/api/health"],
    ["console", "/api/ready"],
    ["public", "/v1/health"],
  ] as const)("answers as the reference of %s says of %s", async (audience, path) => {
    const { response, body } = await ask(path);
    const answered = { method: "GET", path, status: response.status, body };
    expect(findUndocumented(buildOpenApiDocument(audience), answered)).toBeUndefined();
  });

  it("shows browsers a page of the console that loads itself again", async () => {
    const path = "/console/keys";
    const connection = { host: "gateway", path, peer: () => null, allowSilence: () => () => {} };
    const response = await answer(new Request(`http://gateway${path}`), connection);
    expect([response.status, response.headers.get("connection")]).toEqual([503, "close"]);
    expect(await response.text()).toContain('http-equiv="refresh" content="1"');
    expect((await ask("/console/build.json")).body).toMatchObject({
      error: { code: "overloaded" },
    });
  });

  it.each([
    ["/v1/chat/completions", { error: { type: "overloaded_error", code: "overloaded" } }],
    ["/v1/messages", { type: "error", error: { type: "overloaded_error" } }],
  ])("asks clients of %s to try again, in their own form", async (path, form) => {
    const { response, body } = await ask(path);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(body).toMatchObject(form);
  });
});
