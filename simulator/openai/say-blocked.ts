import { type Call, sendJson } from "../call.ts";
import { openAiError } from "./openai-error.ts";

/** The answer to a prompt that the filter stopped. */
export function sayBlocked(call: Call): Promise<void> {
  const message =
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.";
  const { body, status } = openAiError(400, message, { code: "invalid_prompt" });
  return sendJson(call, status, body);
}
