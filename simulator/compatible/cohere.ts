import { alphanumeric } from "../content/random.ts";
import type { Failure } from "../content/speak.ts";
import { EngineError } from "../engine-error.ts";
import { objectsOf } from "../json.ts";
import { baseStyle } from "./base-style.ts";
import { checkConversation } from "./check-conversation.ts";
import type { CompatibleVendor } from "./compatible-vendor.ts";

const failure: Failure = { status: 500, body: { message: "internal server error" } };

/** Cohere's compatible API: the first delta of a call has null arguments. */
export const cohere: CompatibleVendor = {
  ids: /^command-/,
  check(body) {
    checkConversation(objectsOf(body["messages"]), invalid);
    return false;
  },
  styleOf: (entry, model) => ({
    ...baseStyle(entry, model, failure),
    callOf: ({ arguments: text, id, name }, index) => ({
      index,
      id,
      type: "function",
      function: { name, arguments: text === "" ? null : text },
    }),
    usage: "asked",
  }),
  figures: ["cachedTokens", "reasoningTokens"],
  newCallId: (random) => alphanumeric(random, 20),
  overflow: (promptTokens, { contextLength }) =>
    invalid(
      `too many tokens: size limit exceeded by ${promptTokens - contextLength} tokens. Try using shorter or fewer inputs.`,
    ),
  failure,
};

function invalid(message: string): EngineError {
  return new EngineError(400, { message });
}
