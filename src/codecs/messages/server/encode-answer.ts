import type { AnswerBlock, AnswerTextBlock, ChatAnswer } from "../../../core/chat/chat-answer.ts";
import type { AnswerContext } from "../../codec.ts";
import { encodeExtension } from "../../shared/answer-extension.ts";
import { objectText } from "../../shared/object-text.ts";
import { encodeEnd, encodeMessage, ownSeal, toolUseHead } from "./encode-message.ts";
import type { MessagesForm } from "./messages-form.ts";

const NO_USAGE = { inputTokens: 0, outputTokens: 0 };

/** Returns the body of a non-streaming answer, as text. */
export function encodeAnswer(
  { blocks, finish, sources, toolRuns }: ChatAnswer,
  context: AnswerContext,
  form: MessagesForm,
): string {
  const refuses = blocks.some((block) => block.kind === "refusal" && block.text !== "");
  const end = encodeEnd(finish, refuses, form);
  const message = encodeMessage(context, end, finish.usage ?? NO_USAGE);
  const rest = { ...message, ...encodeExtension({ sources, toolRuns, context }) };
  const content = form.fillsCacheOnly
    ? []
    : blocks.flatMap((block) => encodeBlock(block, context, form));
  return `${JSON.stringify(rest).slice(0, -1)},"content":[${content.join(",")}]}`;
}

/** Encodes a block as JSON text: the input of a call must not be parsed and serialised again. */
function encodeBlock(block: AnswerBlock, context: AnswerContext, form: MessagesForm): string[] {
  switch (block.kind) {
    case "text":
    case "refusal":
      if (block.text === "") return [];
      return [JSON.stringify({ type: "text", text: block.text, citations: null })];
    case "reasoning":
      return encodeThinking(block, context, form);
    case "tool-call": {
      const head = JSON.stringify(toolUseHead(block.callId, block.name));
      // Truncated arguments are not valid JSON. They are wrapped, so that the call cannot be mistaken for a complete
      // one.
      return [`${head.slice(0, -1)},"input":${objectText(block.arguments)}}`];
    }
  }
}

/** Encodes reasoning. Clients drop reasoning without a seal, so the gateway adds its own when the vendor set none. */
function encodeThinking(
  { text, signature, redacted }: AnswerTextBlock,
  { requestId }: AnswerContext,
  { omitsThinking }: MessagesForm,
): string[] {
  const blocks: string[] = [];
  if (text !== "" || signature !== undefined) {
    const thinking = omitsThinking ? "" : text;
    const seal = signature || ownSeal(requestId);
    blocks.push(JSON.stringify({ type: "thinking", thinking, signature: seal }));
  }
  if (redacted !== undefined) {
    blocks.push(JSON.stringify({ type: "redacted_thinking", data: redacted }));
  }
  return blocks;
}
