import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const CHAT_IDS = ["Qwen/Qwen3-8B-FP8", "hf.co/org/model-GGUF:Q4_K_M", "tiny", "ünï cödé+%"];
const OTHER_IDS = ["BAAI/bge-m3", "nomic-embed-text", "openai/whisper-large-v3"];

describe("4.1 GET /v1/models and GET /v1/models/{model}", () => {
  let simulator: TestSimulator;
  let gateway: TestGateway;

  beforeAll(async () => {
    simulator = await startSimulator({
      engine: "vllm",
      models: [...OTHER_IDS, ...CHAT_IDS].map((name) => ({
        name,
        contextLength: 4_096,
        capabilities: ["completion"],
      })),
    });
    gateway = await startGateway({ LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url });
  });
  afterAll(async () => {
    await gateway?.stop();
    await simulator?.stop();
  });

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(gateway.url + path, { headers: { authorization: `Bearer ${TEST_KEY}`, ...headers } });

  it("lists the embedding models for type=embedding alone, and refuses a type that there is not", async () => {
    const idsOf = async (query: string) => {
      const { data } = (await (await get(`/v1/models${query}`)).json()) as {
        data: { id: string; object: string }[];
      };
      return data.map(({ id }) => id).sort();
    };
    expect(await idsOf("?type=embedding")).toEqual(["BAAI/bge-m3", "nomic-embed-text"]);
    expect(await idsOf("?type=embedding&limit=1")).toHaveLength(1);
    expect(await idsOf("?type=chat")).toEqual(await idsOf(""));
    const noNumber = await get("/v1/models?limit=many");
    expect([noNumber.status, await noNumber.json()]).toMatchObject([
      400,
      {
        error: {
          param: "limit",
          message: expect.stringContaining("received a text that is no number"),
        },
      },
    ]);
    const refused = await get("/v1/models?type=image");
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { param: "type" } },
    ]);
  });

  it("lists the chat models in one body that both families of clients read", async () => {
    const response = await get("/v1/models");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    const body = (await response.json()) as { data: Record<string, unknown>[] };
    expect(body).toEqual({
      object: "list",
      data: expect.any(Array),
      has_more: false,
      first_id: CHAT_IDS[0],
      last_id: CHAT_IDS.at(-1),
    });
    expect(body.data.map(({ id }) => id)).toEqual(CHAT_IDS);
    for (const model of body.data) {
      expect(model).toMatchObject({
        object: "model",
        owned_by: "vllm",
        created: expect.any(Number),
        type: "model",
        display_name: model["id"],
        max_input_tokens: 4_096,
        capabilities: { structured_outputs: { supported: true }, pdf_input: { supported: false } },
        ext: { backend: "vllm" },
      });
      expect(model["created_at"]).toBe(new Date(Number(model["created"]) * 1000).toISOString());
    }
  });

  it("reads the same list for the paging that clients of the messages format ask for", async () => {
    const response = await get("/v1/models?limit=1000", {
      "anthropic-version": "2023-06-01",
      "x-api-key": TEST_KEY,
    });
    expect(await response.json()).toMatchObject({ has_more: false, first_id: CHAT_IDS[0] });
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=2.5", "limit"],
    ["limit=many", "limit"],
    ["after_id=nobody", "after_id"],
    ["after=nobody", "after"],
    ["before_id=nobody", "before_id"],
    ["before_id=tiny&after_id=tiny", "before_id"],
  ])("names the parameter of a page that is wrong: %s", async (query, param) => {
    const response = await get(`/v1/models?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param, code: "invalid_value" } });
    const messages = await get(`/v1/models?${query}`, { "anthropic-version": "2023-06-01" });
    expect(messages.status).toBe(400);
    expect(await messages.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: expect.stringContaining(param) },
    });
  });

  it("takes the cursor of either family, in any encoding", async () => {
    for (const name of ["after", "after_id"]) {
      const cursor = encodeURIComponent("hf.co/org/model-GGUF:Q4_K_M");
      const response = await get(`/v1/models?limit=1&${name}=${cursor}`);
      expect(await response.json()).toMatchObject({ first_id: "tiny", has_more: true });
    }
    const last = await get(`/v1/models?after=${encodeURIComponent("ünï cödé+%")}`);
    expect(await last.json()).toMatchObject({ data: [], has_more: false, first_id: null });
  });

  it("is closed without a key and open by either header", async () => {
    const byHeader = (headers: Record<string, string>) =>
      fetch(`${gateway.url}/v1/models`, { headers });
    expect((await byHeader({})).status).toBe(401);
    expect((await byHeader({ "x-api-key": TEST_KEY })).status).toBe(200);
    expect((await byHeader({ authorization: `bearer ${TEST_KEY}` })).status).toBe(200);
    expect((await byHeader({ authorization: `Basic ${TEST_KEY}` })).status).toBe(401);
    expect((await fetch(`${gateway.url}/v1/models?api_key=${TEST_KEY}`)).status).toBe(401);
  });

  it.each(CHAT_IDS)("shows one model by its id, encoded or plain: %s", async (id) => {
    const listed = (await (await get("/v1/models")).json()) as { data: { id: string }[] };
    const expected = listed.data.find((model) => model.id === id);
    const spellings = new Set([
      encodeURIComponent(id),
      encodeURIComponent(id).replaceAll("%2F", "/"),
      encodeURIComponent(id).replaceAll("%3A", ":"),
      encodeURIComponent(id).toLowerCase() === id ? id : encodeURIComponent(id),
    ]);
    for (const spelling of spellings) {
      const response = await get(`/v1/models/${spelling}`);
      expect({ spelling, body: await response.json() }).toEqual({ spelling, body: expected });
    }
  });

  it("shows every model to the official client", async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: TEST_KEY, maxRetries: 0 });
    for (const id of CHAT_IDS) {
      expect(await client.models.retrieve(id)).toMatchObject({ id, object: "model" });
    }
  });

  it.each([...OTHER_IDS, "qwen/qwen3-8b-fp8", "Qwen", "tiny/"])(
    "knows no model that is not listed: %s",
    async (id) => {
      const response = await get(`/v1/models/${encodeURIComponent(id)}`);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({
        error: {
          message: expect.any(String),
          type: "invalid_request_error",
          param: "model",
          code: "model_not_found",
        },
      });
    },
  );

  it("answers a broken encoding as an unknown model or a wrong path, never as its own fault", async () => {
    for (const path of ["/v1/models/%", "/v1/models/%zz", "/v1/models/%ff"]) {
      expect([400, 404]).toContain((await get(path)).status);
    }
  });

  it("goes on listing what it knows when the engine is away", async () => {
    await simulator.stop();
    const response = await get("/v1/models");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ first_id: CHAT_IDS[0] });
  });
});
