import { type Call, sendJson } from "../call.ts";
import { composeCloudAnswer } from "../content/compose-cloud-answer.ts";
import { alphanumeric } from "../content/random.ts";
import { countPromptTokens } from "../content/render-prompt.ts";
import { speak, speakWhole } from "../content/speak.ts";
import type { Turn } from "../content/turn.ts";
import { type Json, objectOf } from "../json.ts";
import { checkResponses } from "./check/check-responses.ts";
import { findOpenAiModel } from "./find-openai-model.ts";
import { invalid } from "./openai-error.ts";
import { openAiFailure } from "./openai-failure.ts";
import { traitsOf } from "./openai-models.ts";
import { readResponsesTurn } from "./read-responses-turn.ts";
import { endOf, type ResponseHead, renderResponse } from "./render-response.ts";
import { responseItems } from "./response-items.ts";
import { ResponseEvents, responsesFrames } from "./responses-frames.ts";
import { sayBlocked } from "./say-blocked.ts";

/** Handles POST /v1/responses. */
export async function responses(call: Call): Promise<void> {
  const { entry, script } = call;
  const { effort, turn } = readChecked(call);
  if (script?.blocked === "prompt") return sayBlocked(call);
  const answer = composeCloudAnswer(call, turn, (random) => `call_${alphanumeric(random, 24)}`);
  const items = responseItems(answer, {
    body: call.body,
    script,
    seed: entry.id,
    reasons: turn.thinks,
  });
  const end = endOf(answer, items, script?.blocked === "answer");
  const reasons = traitsOf(turn.model).efforts.length > 0;
  const head: ResponseHead = { call, model: turn.model, effort: reasons ? effort : null };
  if (!turn.stream) return speakWhole(call, renderResponse(head, end), answer.usage, openAiFailure);
  const events = new ResponseEvents();
  await speak(call, {
    contentType: "text/event-stream; charset=utf-8",
    frames: responsesFrames(items, end, { events, head }),
    frameLine: (line) => `event: ${typeOf(line)}\ndata: ${line}\n\n`,
    frameError: (body) => frameError(body ?? openAiFailure.body, events, head),
  });
}

/** Handles POST /v1/responses/input_tokens. */
export function countInputTokens(call: Call): Promise<void> {
  const { turn } = readChecked(call);
  const count = countPromptTokens(turn.messages, turn.tools);
  return sendJson(call, 200, { object: "response.input_tokens", input_tokens: count });
}

function readChecked(call: Call): { effort: string; turn: Turn } {
  const model = findOpenAiModel(call);
  const effort = checkResponses(call.body, model);
  const turn = readResponsesTurn(call.body, model, effort !== "none");
  if (countPromptTokens(turn.messages, turn.tools) > model.contextLength) {
    const message =
      "Your input exceeds the context window of this model. Please adjust your input and try again.";
    throw invalid(message, "input", "context_length_exceeded");
  }
  return { effort, turn };
}

/** Frames the recorded pair: the nested error, followed by the failed response. */
function frameError(body: unknown, events: ResponseEvents, head: ResponseHead): string {
  const error = objectOf(objectOf(body)?.["error"]) ?? {};
  const { code, message, type } = error;
  const failed: Json = { code: code ?? type ?? "server_error", message: message ?? "" };
  const state = { status: "failed", output: [], usage: null, error: failed } as const;
  return (
    events.write("error", { error }) +
    events.write("response.failed", { response: renderResponse(head, state) })
  );
}

function typeOf(line: string): string {
  return /"type":\s*"([^"]+)"/.exec(line)?.[1] ?? "message";
}
