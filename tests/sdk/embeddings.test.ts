import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ENGINES, type EngineGateway, openEngineGateway } from "./engine-gateway.ts";

const TEXTS = ["The quick brown fox", "jumps over", "the lazy dog", "ünï cödé ☃"];
const PATHS = { vllm: "/v1/embeddings", ollama: "/api/embed" };

describe.each(ENGINES)("4.1 POST /v1/embeddings by the official client before %s", (engine) => {
  let world: EngineGateway;
  let client: OpenAI;
  let model: string;

  beforeAll(async () => {
    world = await openEngineGateway(engine);
    client = world.openai;
    model = world.modelId("sim-embed");
  });
  beforeEach(() => world.simulator.reset());
  afterAll(() => world?.close());

  const asked = () =>
    world.simulator
      .ledger()
      .filter(({ path }) => path === PATHS[engine])
      .map(({ body }) => JSON.parse(body ?? "null") as Record<string, unknown>);
  const embed = async (input: OpenAI.EmbeddingCreateParams["input"], more = {}) =>
    client.embeddings.create({ model, input, encoding_format: "float", ...more });

  it("embeds one text, with the model and the tokens that the engine tells", async () => {
    const answer = await embed("The quick brown fox");
    expect(answer).toMatchObject({ object: "list", model });
    expect(answer.data).toEqual([{ object: "embedding", index: 0, embedding: expect.any(Array) }]);
    expect(answer.data[0]?.embedding).toHaveLength(256);
    const [entry] = world.simulator.ledger().filter(({ path }) => path === PATHS[engine]);
    const tokens = entry?.told?.inputTokens;
    expect(tokens).toBeGreaterThan(0);
    expect(answer.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
  });

  it("gives each of many texts the vector that it has alone, in the order of the texts", async () => {
    const together = await embed(TEXTS);
    expect(together.data.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    for (const [index, text] of TEXTS.entries()) {
      const alone = await embed(text);
      expect(together.data[index]?.embedding).toEqual(alone.data[0]?.embedding);
    }
  });

  it("answers base64 that is the very float32 of the numbers", async () => {
    const floats = await embed(TEXTS);
    const raw = await embed(TEXTS, { encoding_format: "base64" });
    for (const [index, { embedding }] of floats.data.entries()) {
      const bytes = Buffer.from(raw.data[index]?.embedding as unknown as string, "base64");
      const numbers = embedding.map((_, at) => bytes.readFloatLE(at * 4));
      expect(bytes).toHaveLength(embedding.length * 4);
      expect(numbers).toEqual(embedding.map(Math.fround));
    }
  });

  it("answers a client that names no encoding, which then asks for base64 by itself", async () => {
    const plain = await client.embeddings.create({ model, input: "hello" });
    const floats = await embed("hello");
    expect(plain.data[0]?.embedding).toEqual(floats.data[0]?.embedding.map(Math.fround));
  });

  it("shortens vectors to the dimensions asked for", async () => {
    expect((await embed("hello", { dimensions: 64 })).data[0]?.embedding).toHaveLength(64);
    expect(asked()[0]).toMatchObject({ dimensions: 64 });
    const error = await embed("hello", { dimensions: 300 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
  });

  it.each([undefined, "", "text-embedding-3-small", "sim-chat", "sim-chat:latest", "asst_none"])(
    "takes the engine's embedding model for the name %s",
    async (name) => {
      const answer = await embed("hello", { model: name });
      expect(answer.model).toBe(model);
      expect(asked()).toMatchObject([{ model }]);
    },
  );

  it("refuses a text beyond the model's context instead of cutting it", async () => {
    const error = await embed("word ".repeat(3_000)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ code: "context_length_exceeded", param: "input" });
  });

  it("takes 2,048 inputs at once", async () => {
    const inputs = Array.from({ length: 2_048 }, (_, index) => `text ${index}`);
    const answer = await embed(inputs, { dimensions: 4 });
    expect(answer.data.map(({ index }) => index)).toEqual(inputs.map((_, index) => index));
  });

  if (engine === "vllm") {
    it("embeds tokens and lists of tokens", async () => {
      const one = await embed([1, 2, 3]);
      expect(one.data).toHaveLength(1);
      const two = await embed([
        [1, 2, 3],
        [4, 5],
      ]);
      expect(two.data).toHaveLength(2);
      expect(two.data[0]?.embedding).toEqual(one.data[0]?.embedding);
      expect(two.usage.total_tokens).toBe(5);
    });
  } else {
    it("says that the engine takes no tokens, without asking it", async () => {
      for (const input of [
        [1, 2, 3],
        [[1, 2], [3]],
      ]) {
        const error = await embed(input).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ status: 400, code: "invalid_value", param: "input" });
      }
      expect(asked()).toEqual([]);
    });
  }
});
