import type { Call } from "../call.ts";
import { type ChatSpeech, chatFrames } from "../chat/chat-frames.ts";
import { readChatTurn } from "../chat/read-chat-turn.ts";
import { wholeChat } from "../chat/whole-chat.ts";
import { composeCloudAnswer } from "../content/compose-cloud-answer.ts";
import { alphanumeric } from "../content/random.ts";
import { countPromptTokens } from "../content/render-prompt.ts";
import { speak, speakWhole } from "../content/speak.ts";
import type { Turn } from "../content/turn.ts";
import { objectOf } from "../json.ts";
import type { Script } from "../script.ts";
import { checkChat } from "./check/check-chat.ts";
import { findOpenAiModel } from "./find-openai-model.ts";
import { openAiChatStyle } from "./openai-chat-style.ts";
import { invalid, openAiError } from "./openai-error.ts";
import { openAiFailure } from "./openai-failure.ts";
import { traitsOf } from "./openai-models.ts";
import { sayBlocked } from "./say-blocked.ts";

/** Handles POST /v1/chat/completions. */
export async function chat(call: Call): Promise<void> {
  const { body, entry, script } = call;
  const model = findOpenAiModel(call);
  if (traitsOf(model).endpoints === "responses") {
    const message = "This model is only supported in v1/responses and not in v1/chat/completions.";
    throw openAiError(404, message, { param: "model" });
  }
  const effort = checkChat(body, model);
  const turn = readChatTurn(body, model, effort !== "none");
  checkContext(turn);
  if (script?.blocked === "prompt") return sayBlocked(call);
  const answer = composeCloudAnswer(call, turn, (random) => `call_${alphanumeric(random, 24)}`);
  const wantsUsage = objectOf(body["stream_options"])?.["include_usage"] === true;
  const speech: ChatSpeech = {
    style: openAiChatStyle(entry, model.name, wantsUsage),
    finishReason: finishReasonOf(answer.finishReason, script),
    wantsUsage,
    topLogprobs: turn.topLogprobs,
    script,
  };
  if (!turn.stream) {
    return speakWhole(call, wholeChat(answer, speech), answer.usage, openAiFailure);
  }
  await speak(call, {
    contentType: "text/event-stream; charset=utf-8",
    frames: chatFrames(answer, speech),
    frameLine: (line) => `data: ${line}\n\n`,
    frameError: speech.style.frameError,
  });
}

function finishReasonOf(usual: string, script: Script | undefined): string {
  return script?.blocked === "answer" ? "content_filter" : usual;
}

function checkContext({ maxTokens = 0, messages, model, tools }: Turn): void {
  const promptTokens = countPromptTokens(messages, tools);
  if (promptTokens + maxTokens <= model.contextLength) return;
  const opening = `This model's maximum context length is ${model.contextLength} tokens. However,`;
  const rest =
    promptTokens > model.contextLength
      ? `your messages resulted in ${promptTokens} tokens. Please reduce the length of the messages.`
      : `you requested ${promptTokens + maxTokens} tokens (${promptTokens} in the messages, ${maxTokens} in the completion). Please reduce the length of the messages or completion.`;
  throw invalid(`${opening} ${rest}`, "messages", "context_length_exceeded");
}
