import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGateway, TEST_KEY, type TestGateway } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import { collect, ENGINES } from "./engine-gateway.ts";

const COUNT = 7;

describe.each(ENGINES)("4.1 GET /v1/models by both official clients before %s", (engine) => {
  const ids = Array.from({ length: COUNT }, (_, index) =>
    engine === "ollama" ? `org/chat-${index}:latest` : `org/chat-${index}`,
  );
  let simulator: TestSimulator;
  let gateway: TestGateway;
  let openai: OpenAI;
  let anthropic: Anthropic;

  beforeAll(async () => {
    simulator = await startSimulator({
      engine,
      models: [
        { name: "nomic-embed-text", contextLength: 2_048, capabilities: ["embedding"] },
        ...ids.map((name) => ({
          name,
          contextLength: 8_192,
          capabilities: ["completion" as const, "tools" as const],
        })),
      ],
    });
    gateway = await startGateway({ LLM_BACKEND: engine, LLM_BASE_URL: simulator.url });
    openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: TEST_KEY, maxRetries: 0 });
    anthropic = new Anthropic({ baseURL: gateway.url, apiKey: TEST_KEY, maxRetries: 0 });
  });
  afterAll(async () => {
    await gateway?.stop();
    await simulator?.stop();
  });

  it("is the same list to both", async () => {
    const ofOpenai = await collect(openai.models.list());
    const ofAnthropic = await collect(anthropic.models.list());
    expect(ofOpenai.map(({ id }) => id)).toEqual(ids);
    expect(ofAnthropic).toEqual(ofOpenai);
  });

  it.each([1, 2, 3, 6, 7, 8, 1_000])(
    "is paged through %i at a time, forth and back",
    async (limit) => {
      const forth = await collect(anthropic.models.list({ limit }));
      expect(forth.map(({ id }) => id)).toEqual(ids);
      const last = ids.at(-1) ?? "";
      const page = await anthropic.models.list({ limit, before_id: last });
      expect(page.data.map(({ id }) => id)).toEqual(ids.slice(Math.max(0, COUNT - 1 - limit), -1));
      const back: string[][] = [];
      for await (const one of page.iterPages()) back.unshift(one.data.map(({ id }) => id));
      expect(back.flat()).toEqual(ids.slice(0, -1));
    },
  );

  it("tells of each model what the messages format asks", async () => {
    const model = await anthropic.models.retrieve(ids[2] ?? "");
    expect(model).toMatchObject({
      id: ids[2],
      type: "model",
      display_name: ids[2],
      max_input_tokens: 8_192,
      max_tokens: null,
      lifecycle: "active",
      capabilities: {
        tools: { supported: true },
        pdf_input: { supported: false },
        batch: { supported: false },
      },
    });
    expect(new Date(model.created_at).toISOString()).toBe(model.created_at);
    expect(await openai.models.retrieve(ids[2] ?? "")).toEqual(model);
  });

  it("tells each client in its own form that a model is not listed", async () => {
    for (const id of ["gpt-4o", "nomic-embed-text", "nomic-embed-text:latest"]) {
      await expect(openai.models.retrieve(id)).rejects.toMatchObject({
        status: 404,
        code: "model_not_found",
        param: "model",
      });
      const error = await anthropic.models.retrieve(id).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Anthropic.NotFoundError);
      expect(error).toMatchObject({
        error: {
          type: "error",
          error: { type: "not_found_error" },
          request_id: expect.stringMatching(/^req_/),
        },
      });
    }
  });

  if (engine === "ollama") {
    it("knows a model without Ollama's default tag, as a call does", async () => {
      expect(await openai.models.retrieve("org/chat-1")).toMatchObject({ id: "org/chat-1:latest" });
      await expect(openai.models.retrieve("org/chat-1:8b")).rejects.toMatchObject({ status: 404 });
    });
  }
});
