import { describe, expect, it } from "vitest";
import { encodeEmbeddings } from "../../../src/codecs/embeddings/encode-answer.ts";
import { ollamaEmbeddings } from "../../../src/codecs/embeddings/ollama-client.ts";
import { openaiEmbeddings } from "../../../src/codecs/embeddings/openai-client.ts";
import { parseEmbeddingRequest } from "../../../src/codecs/embeddings/parse-request.ts";
import { encodeVector } from "../../../src/codecs/embeddings/vector.ts";
import { EMBEDDING_EXAMPLES } from "../../../src/http/families/documentation/embedding-examples.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const NUMBERS = [0, -0, 1, -1.5, 0.1, 1 / 3, 3.4e38, 1.4e-45, -2e-40, 16_777_217].map(Math.fround);

describe("A vector", () => {
  it("is the same float32 numbers in base64 and back", () => {
    const base64 = encodeVector(NUMBERS, "base64");
    expect(encodeVector(base64, "float")).toEqual(NUMBERS);
    expect(encodeVector(base64, "base64")).toBe(base64);
    expect(encodeVector(NUMBERS, "float")).toBe(NUMBERS);
  });

  it("has its bytes in little-endian order", () => {
    expect(encodeVector([1], "base64")).toBe(Buffer.from([0, 0, 0x80, 0x3f]).toString("base64"));
  });
});

describe("A request for embeddings", () => {
  it("keeps what it does not know for the engine, without what is null", () => {
    const body = { input: "a", model: "m", user: "u", truncate_prompt_tokens: 8, seed: null };
    expect(parseEmbeddingRequest(body)).toEqual({
      model: "m",
      inputs: ["a"],
      dimensions: undefined,
      encoding: "float",
      extra: { user: "u", truncate_prompt_tokens: 8 },
    });
  });

  it("is right as the reference shows it", () => {
    for (const { summary, value } of Object.values(EMBEDDING_EXAMPLES)) {
      expect(summary).toBeTruthy();
      expect(parseEmbeddingRequest(value).inputs.length).toBeGreaterThan(0);
    }
  });

  it("is one input when it is a list of tokens", () => {
    expect(parseEmbeddingRequest({ input: [1, 2] }).inputs).toEqual([[1, 2]]);
    expect(parseEmbeddingRequest({ input: [[1, 2], [3]] }).inputs).toEqual([[1, 2], [3]]);
  });

  it("is written so that the client's further fields never win over its own", () => {
    const extra = {
      model: "other",
      input: "other",
      encoding_format: "hex",
      truncate: true,
      user: "u",
    };
    const request = { ...parseEmbeddingRequest({ input: ["a", "b"], dimensions: 3 }), extra };
    expect(JSON.parse(openaiEmbeddings.build(request, "m"))).toEqual({
      model: "m",
      input: ["a", "b"],
      encoding_format: "float",
      dimensions: 3,
      truncate: true,
      user: "u",
    });
    expect(JSON.parse(ollamaEmbeddings.build(request, "m"))).toMatchObject({
      model: "m",
      input: ["a", "b"],
      dimensions: 3,
      truncate: true,
    });
    expect(JSON.parse(ollamaEmbeddings.build({ ...request, extra: {} }, "m")).truncate).toBe(false);
  });
});

describe("An answer with embeddings", () => {
  const request = parseEmbeddingRequest({ input: ["a", "b", "c"] });

  it("is put into the order of the inputs, whatever order the engine has", () => {
    const data = [2, 0, 1].map((index) => ({ index, embedding: [index] }));
    expect(openaiEmbeddings.readAnswer({ data }, request).vectors).toEqual([[0], [1], [2]]);
    const bare = [5, 6, 7].map((number) => ({ embedding: [number] }));
    expect(openaiEmbeddings.readAnswer({ data: bare }, request).vectors).toEqual([[5], [6], [7]]);
  });

  it.each([
    [0, 0, 1],
    [0, 1, 3],
    [0, 1, -1],
    [0, 1, 1.5],
    [0, 1, "2"],
  ])("is refused when its indexes are not each input once: %s %s %s", (...indexes) => {
    const data = indexes.map((index) => ({ index, embedding: [1] }));
    expect(() => openaiEmbeddings.readAnswer({ data }, request)).toThrow(/invalid index/);
  });

  it("has no tokens where the engine tells nothing that is a count", () => {
    const data = [{ embedding: [1] }];
    const one = parseEmbeddingRequest({ input: "a" });
    for (const usage of [undefined, null, {}, { prompt_tokens: -1 }, { prompt_tokens: "3" }]) {
      expect(openaiEmbeddings.readAnswer({ data, usage }, one).inputTokens).toBeUndefined();
    }
    expect(ollamaEmbeddings.readAnswer({ embeddings: [[1]] }, one).inputTokens).toBeUndefined();
    const told = { embeddings: [[1]], prompt_eval_count: 4 };
    expect(ollamaEmbeddings.readAnswer(told, one).inputTokens).toBe(4);
  });

  it("is refused as wrong dimensions when the engine passed them over", () => {
    const short = { ...parseEmbeddingRequest({ input: "a", dimensions: 2 }) };
    const error = (() => {
      try {
        return ollamaEmbeddings.readAnswer({ embeddings: [[1, 2, 3]] }, short);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "dimensions" });
    const base64 = encodeVector([1, 2], "base64");
    expect(openaiEmbeddings.readAnswer({ data: [{ embedding: base64 }] }, short).vectors).toEqual([
      base64,
    ]);
  });

  const [recorded] = readSharedFixtures(["openai-misc"], "openai-embedding.json");
  it.runIf(recorded !== undefined)("is told as OpenAI's own was recorded", () => {
    const answer = JSON.parse(Buffer.from(recorded?.bytes ?? []).toString());
    const { vectors, inputTokens } = openaiEmbeddings.readAnswer(
      answer,
      parseEmbeddingRequest({ input: ["a", "b"] }),
    );
    const told = { vectors, model: answer.model, inputTokens: inputTokens ?? 0 };
    expect(JSON.parse(encodeEmbeddings(told, "float"))).toEqual(answer);
  });
});
