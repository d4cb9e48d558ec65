import { describe, expect, test } from "vitest";
import type { EmbeddingRequest } from "../../src/core/embedding.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { createEmbedder } from "../../src/knowledge/embed-texts.ts";

const { signal } = new AbortController();

/** An embedder whose engine refuses what `refuse` returns an error for, and the texts that the engine was sent. */
function openEmbedder(refuse: (text: string) => ServiceError | undefined) {
  const sent: string[] = [];
  const embeddings = {
    async embed({ inputs }: EmbeddingRequest) {
      const text = String(inputs[0]);
      sent.push(text);
      const refusal = refuse(text);
      if (refusal !== undefined) throw refusal;
      return { vectors: [[1, 0]], inputTokens: text.length };
    },
    resolve: async () => "any",
  };
  const settings = { EMBEDDING_QUERY_PREFIX: "query: ", EMBEDDING_DOCUMENT_PREFIX: "" };
  return { embedder: createEmbedder(embeddings, settings), sent };
}

function tooLong(code: "context_length_exceeded" | "request_too_large" | "invalid_value") {
  return new ServiceError(code, "The text is too long.");
}

const QUESTION = `What does it cost? ${"word ".repeat(600)}It is the E-4711.`;

describe("a question that is longer than the model reads", () => {
  test.each(["context_length_exceeded", "request_too_large", "invalid_value"] as const)(
    "is embedded by its beginning and end, after %s",
    async (code) => {
      const { embedder, sent } = openEmbedder((text) =>
        text.length > 1_000 ? tooLong(code) : undefined,
      );
      const tokens: number[] = [];
      await embedder.embedQuestion("small", QUESTION, signal, (count) => tokens.push(count));
      const last = sent.at(-1) ?? "";
      expect(last).toMatch(/^query: What does it cost\? .* It is the E-4711\.$/s);
      expect(last.length).toBeGreaterThan(500);
      expect(tokens).toEqual([last.length]);
    },
  );

  test("is cut at once where the model has refused another one, and not for other models", async () => {
    const { embedder, sent } = openEmbedder((text) =>
      text.length > 1_000 ? tooLong("context_length_exceeded") : undefined,
    );
    await embedder.embedQuestion("small", QUESTION, signal);
    const refused = sent.length;
    await embedder.embedQuestion("small", QUESTION, signal);
    expect(sent).toHaveLength(refused + 1);
    await embedder.embedQuestion("small", "What does it cost?", signal);
    expect(sent.at(-1)).toBe("query: What does it cost?");
    await embedder.embedQuestion("other", QUESTION, signal);
    expect(sent[refused + 2]).toBe(`query: ${QUESTION}`);
  });

  test("is tried in full again after a while", async () => {
    let most = 500;
    const { embedder, sent } = openEmbedder((text) =>
      text.length > most ? tooLong("context_length_exceeded") : undefined,
    );
    await embedder.embedQuestion("small", QUESTION, signal);
    most = 10_000;
    for (let question = 0; question < 20; question += 1)
      await embedder.embedQuestion("small", QUESTION, signal);
    expect(sent.at(-1)).toBe(`query: ${QUESTION}`);
  });

  test("fails with the first refusal where the model takes it in no length", async () => {
    let refusals = 0;
    const { embedder } = openEmbedder(() => {
      refusals += 1;
      return new ServiceError("invalid_value", `refusal ${refusals}`);
    });
    const embedding = embedder.embedQuestion("small", QUESTION, signal);
    await expect(embedding).rejects.toThrow("refusal 1");
    expect(refusals).toBeLessThan(8);
  });

  test("is sent once to an engine that fails for another reason", async () => {
    const { embedder, sent } = openEmbedder(() => new ServiceError("upstream_error", "away"));
    await expect(embedder.embedQuestion("small", QUESTION, signal)).rejects.toThrow("away");
    expect(sent).toHaveLength(1);
  });
});
