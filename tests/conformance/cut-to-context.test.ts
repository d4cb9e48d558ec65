import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chat } from "./families/chat.ts";
import { messages } from "./families/messages.ts";
import { responses } from "./families/responses.ts";
import { type Stage, startStage } from "./stage.ts";

/** Both have 8,192 tokens of context. */
const SMALL_MODELS = [
  ["vllm", "sim-small"],
  ["ollama", "sim-small:latest"],
] as const;

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

describe.each(SMALL_MODELS)(
  "an output limit beyond the context of a model of %s",
  (name, model) => {
    it.each([chat, messages, responses])(
      "is cut to what fits, and the answer says that it was cut: $name",
      async (family) => {
        const line = {
          url: stage.urlOf(name),
          key: stage.keys.plain,
          // Anthropic's library asks for so much in streams alone.
          stream: true,
          fetch,
        };
        const turns = [{ who: "user", text: "count to 20000" } as const];
        const answer = await family.ask(line, { model, turns, maxTokens: 200_000 });
        expect(answer.end).toBe("length");
        const used = answer.usage.input + answer.usage.output;
        expect(used).toBeLessThanOrEqual(8_192);
        expect(used).toBeGreaterThan(8_000);
      },
    );
  },
);
