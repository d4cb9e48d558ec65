import type { Call } from "../call.ts";
import { type ChatSpeech, chatFrames } from "../chat/chat-frames.ts";
import { readChatTurn } from "../chat/read-chat-turn.ts";
import { wholeChat } from "../chat/whole-chat.ts";
import type { Answer } from "../content/answer.ts";
import { composeCloudAnswer } from "../content/compose-cloud-answer.ts";
import { countPromptTokens } from "../content/render-prompt.ts";
import { speak, speakWhole } from "../content/speak.ts";
import { objectOf, stringOf } from "../json.ts";
import type { Model } from "../models.ts";
import type { Script } from "../script.ts";
import { vendorOf } from "./compatible-models.ts";
import { mistralError } from "./mistral-error.ts";

/** Handles POST /v1/chat/completions in the style of the model's vendor. */
export async function chat(call: Call): Promise<void> {
  const { body, entry, script } = call;
  const model = findModel(call);
  const vendor = vendorOf(model);
  const turn = readChatTurn(body, model, vendor.check(body, model));
  const promptTokens = countPromptTokens(turn.messages, turn.tools);
  if (promptTokens + (turn.maxTokens ?? 0) > model.contextLength) {
    throw vendor.overflow(promptTokens, model);
  }
  const answer = composeCloudAnswer(call, turn, vendor.newCallId, vendor.figures);
  const speech: ChatSpeech = {
    style: vendor.styleOf(entry, model),
    finishReason: finishReasonOf(answer, script),
    wantsUsage: objectOf(body["stream_options"])?.["include_usage"] === true,
    topLogprobs: turn.topLogprobs,
    script: withoutRefusal(script),
  };
  if (!turn.stream) {
    return speakWhole(call, wholeChat(answer, speech), answer.usage, vendor.failure);
  }
  await speak(call, {
    contentType: "text/event-stream",
    frames: chatFrames(answer, speech),
    frameLine: (line) => `data: ${line}\n\n`,
    frameError: speech.style.frameError,
  });
}

/** Removes the refusal text: no vendor here has a field for it, so only the finish reason reports it. */
function withoutRefusal(script: Script | undefined): Script | undefined {
  if (!script) return undefined;
  const { refusal: _, ...rest } = script;
  return rest;
}

function findModel({ body, options }: Call): Model {
  const name = stringOf(body["model"]);
  const found = options.models.find((model) => model.name === name);
  if (found) return found;
  throw mistralError(400, {
    message: `Invalid model: ${String(name)}`,
    type: "invalid_model",
    code: "1500",
  });
}

/** Returns the finish reason. An answer with calls ends with `tool_calls`, also when the request named the tool. */
function finishReasonOf(answer: Answer, script: Script | undefined): string {
  if (script?.blocked !== undefined || script?.refusal !== undefined) return "content_filter";
  const isCall = answer.toolCalls.length > 0 && answer.finishReason === "stop";
  return isCall ? "tool_calls" : answer.finishReason;
}
