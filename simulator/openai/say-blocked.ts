import { type Call, sendJson } from "../call.ts";
import { openAiError } from "./openai-error.ts";

/** Answers a prompt that the filter blocked. */
export function sayBlocked(call: Call): Promise<void> {
  const message =
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.";
  const { body, status } = openAiError(400, message, { code: "invalid_prompt" });
  return sendJson(call, status, body);
}
