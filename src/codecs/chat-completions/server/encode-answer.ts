import type {
  AnswerBlock,
  AnswerTextBlock,
  AnswerToolCall,
  ChatAnswer,
} from "../../../core/chat-answer.ts";
import type { Usage } from "../../../core/chat-event.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json.ts";
import type { AnswerContext } from "../../codec.ts";
import { encodeExtension } from "../../shared/answer-extension.ts";
import { joinExtras, withWholeLogprobs } from "../extras.ts";
import { writeFinishReason } from "../finish-reasons.ts";
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
          ...(isJsonObject(messageExtra) && messageExtra),
          ...encodeMessage(blocks),
          ...(isEmpty && { content: "" }),
        },
        finish_reason: isEmpty ? "length" : writeFinishReason(finish.reason),
      },
    ],
    ...(finish.usage !== undefined && { usage: encodeUsage(finish.usage) }),
    ...encodeExtension({ sources, toolRuns, context }),
  };
}

function encodeMessage(blocks: readonly AnswerBlock[]): JsonObject {
  const calls = blocks.filter((block) => block.kind === "tool-call").map(encodeCall);
  const thought = textOf(blocks, "reasoning");
  return {
    role: "assistant",
    content: textOf(blocks, "text") ?? null,
    refusal: textOf(blocks, "refusal") ?? null,
    // Reasoning may consist of a seal without text.
    ...(thought && { reasoning_content: thought }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function encodeCall({ callId, name, arguments: text }: AnswerToolCall): JsonObject {
  return { id: callId, type: "function", function: { name, arguments: text } };
}

/** Returns the text of all blocks of a kind; undefined when there is none. */
function textOf(blocks: readonly AnswerBlock[], kind: AnswerTextBlock["kind"]): string | undefined {
  const texts = blocks.flatMap((block) => (block.kind === kind ? [block.text] : []));
  return texts.length === 0 ? undefined : texts.join("");
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
    ...((cachedTokens !== undefined || cacheWriteTokens !== undefined) && {
      prompt_tokens_details: {
        cached_tokens: cachedTokens ?? 0,
        cache_write_tokens: cacheWriteTokens,
      },
    }),
    ...(reasoningTokens !== undefined && {
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    }),
  };
}
