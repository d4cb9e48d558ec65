import type {
  AnswerBlock,
  AnswerTextBlock,
  AnswerToolCall,
  ChatAnswer,
} from "../../../core/chat/chat-answer.ts";
import type { Usage } from "../../../core/chat/usage.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import type { AnswerContext } from "../../codec.ts";
import { encodeExtension } from "../../shared/answer-extension.ts";
import { joinExtras, withWholeLogprobs } from "../extras.ts";
import { isCut, writeFinishReason } from "../finish-reasons.ts";
import type { ChatForm } from "./chat-form.ts";

/** Returns the body of a non-streaming answer. */
export function encodeAnswer(
  answer: ChatAnswer,
  context: AnswerContext,
  { isEmpty = false }: ChatForm,
): JsonObject {
  const { finish, sources, toolRuns, extra } = answer;
  const blocks = isEmpty ? [] : answer.blocks;
  const { message: messageExtra, ...choiceExtra } =
    (isEmpty ? undefined : joinExtras([...tokenExtras(blocks), finish.extra])) ?? {};
  return {
    ...extra,
    id: `chatcmpl-${context.requestId}`,
    object: "chat.completion",
    created: context.created,
    model: context.model,
    choices: [
      {
        logprobs: null,
        ...withWholeLogprobs(choiceExtra),
        index: 0,
        message: {
          ...(isJsonObject(messageExtra) ? messageExtra : undefined),
          ...encodeMessage(blocks, isEmpty, isCut(finish.reason)),
        },
        finish_reason: isEmpty ? "length" : writeFinishReason(finish.reason),
      },
    ],
    usage: finish.usage && encodeUsage(finish.usage),
    ...encodeExtension({ sources, toolRuns, context }),
  };
}

function encodeMessage(
  blocks: readonly AnswerBlock[],
  isEmpty: boolean,
  isCutOff: boolean,
): JsonObject {
  const texts: Partial<Record<AnswerTextBlock["kind"], string>> = {};
  const calls: JsonObject[] = [];
  for (const block of blocks) {
    if (block.kind === "tool-call") calls.push(encodeCall(block, isCutOff));
    else texts[block.kind] = (texts[block.kind] ?? "") + block.text;
  }
  return {
    role: "assistant",
    content: isEmpty ? "" : (texts.text ?? null),
    refusal: texts.refusal ?? null,
    // Reasoning may consist of a seal without text.
    reasoning_content: texts.reasoning || undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  };
}

function encodeCall(
  { callId, name, arguments: text }: AnswerToolCall,
  isCutOff: boolean,
): JsonObject {
  // Clients parse it, and an empty string is not valid JSON.
  const whole = text === "" && !isCutOff ? "{}" : text;
  return { id: callId, type: "function", function: { name, arguments: whole } };
}

function tokenExtras(blocks: readonly AnswerBlock[]): readonly JsonObject[] {
  return blocks.flatMap((block) => (block.kind === "tool-call" ? [] : block.extras));
}

/** Returns the `usage` object. Details that the engine did not report are omitted. */
export function encodeUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details:
      cachedTokens === undefined && cacheWriteTokens === undefined
        ? undefined
        : { cached_tokens: cachedTokens ?? 0, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details:
      reasoningTokens === undefined ? undefined : { reasoning_tokens: reasoningTokens },
  };
}
