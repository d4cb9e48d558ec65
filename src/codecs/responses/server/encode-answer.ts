import type {
  AnswerBlock,
  AnswerTextBlock,
  AnswerToolCall,
  ChatAnswer,
} from "../../../core/chat/chat-answer.ts";
import type { FoundPassage } from "../../../core/chat/chat-event.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { AnswerContext } from "../../codec.ts";
import { ResponseEncoder } from "./encode-response.ts";
import { outcomeOf } from "./finish-outcome.ts";
import { CustomInput } from "./items/custom-input.ts";
import {
  encodeCustomCall,
  encodeFunctionCall,
  encodeMessage,
  encodeReasoning,
  encodeRefusalPart,
  encodeTextPart,
  type ItemStatus,
  itemId,
} from "./items/encode-items.ts";
import { encodeLogprobs } from "./items/encode-logprobs.ts";
import { citationsIn, encodeFileSearch } from "./items/file-search-item.ts";
import type { ResponsesForm } from "./responses-form.ts";

type MessageBlock = AnswerTextBlock & { readonly kind: "text" | "refusal" };
/** The blocks of one item: consecutive text and refusal blocks are one message. */
type Group = AnswerBlock | readonly MessageBlock[];

/** Returns the body of a non-streaming answer, as text. */
export function encodeAnswer(
  { blocks, finish, sources, toolRuns, search }: ChatAnswer,
  context: AnswerContext,
  form: ResponsesForm,
): string {
  const outcome = outcomeOf(finish.reason);
  const groups = groupBlocks(withExtrasOf(finish, blocks));
  const { requestId } = context;
  const searched = search === undefined ? [] : [search];
  const searches = searched.map((event, outputIndex) =>
    encodeFileSearch(event, { requestId, outputIndex }, form.wantsSearchResults),
  );
  const found = search?.found ?? [];
  const items = groups.map((group, position) => {
    // Only the last item of a truncated answer is incomplete.
    const status = position === groups.length - 1 ? outcome.status : "completed";
    return encodeItem(group, status, { requestId, index: searches.length + position, form, found });
  });
  const output = [...searches, ...items];
  const encoder = new ResponseEncoder(context, form);
  return encoder.encode({ output, outcome, usage: finish.usage, sources, toolRuns });
}

/** Some engines report the log probabilities of the whole answer outside its deltas; they belong to its text. */
function withExtrasOf(
  { extra }: ChatAnswer["finish"],
  blocks: readonly AnswerBlock[],
): readonly AnswerBlock[] {
  const last = blocks.findLast(isText);
  if (extra === undefined || last === undefined || last.extras.length > 0) return blocks;
  return blocks.map((block) => (block === last ? { ...last, extras: [extra] } : block));
}

function groupBlocks(blocks: readonly AnswerBlock[]): Group[] {
  const groups: Group[] = [];
  let message: MessageBlock[] | undefined;
  for (const block of blocks) {
    if (!isOfMessage(block)) {
      message = undefined;
      groups.push(block);
    } else if (message === undefined) {
      message = [block];
      groups.push(message);
    } else {
      message.push(block);
    }
  }
  return groups;
}

function isText(block: AnswerBlock): block is AnswerTextBlock {
  return block.kind === "text";
}

function isOfMessage(block: AnswerBlock): block is MessageBlock {
  return block.kind === "text" || block.kind === "refusal";
}

interface Place {
  readonly requestId: string;
  readonly index: number;
  readonly form: ResponsesForm;
  /** The passages that the text may cite. */
  readonly found: readonly FoundPassage[];
}

function encodeItem(group: Group, status: ItemStatus, place: Place): JsonObject {
  const { requestId, index, form, found } = place;
  if ("length" in group) {
    return encodeMessage(
      itemId("message", requestId, index),
      status,
      group.map((block) => encodePart(block, found)),
    );
  }
  if (group.kind === "tool-call") return encodeCall(group, status, place);
  return encodeReasoning(itemId("reasoning", requestId, index), group, form);
}

function encodePart(
  { kind, text, extras }: MessageBlock,
  found: readonly FoundPassage[],
): JsonObject {
  return kind === "text"
    ? encodeTextPart(text, extras.flatMap(encodeLogprobs), citationsIn(text, found))
    : encodeRefusalPart(text);
}

function encodeCall(
  { callId, name, arguments: text }: AnswerToolCall,
  status: ItemStatus,
  { requestId, index, form }: Place,
): JsonObject {
  const tool = form.toolNames.find(name);
  const call = { callId, name: tool?.name ?? name, namespace: tool?.namespace };
  if (tool?.isCustom !== true) {
    const id = itemId("function_call", requestId, index);
    return encodeFunctionCall(id, status, call, text === "" ? "{}" : text);
  }
  const input = new CustomInput();
  input.push(text);
  input.end();
  return encodeCustomCall(itemId("custom_tool_call", requestId, index), status, call, input.text);
}
