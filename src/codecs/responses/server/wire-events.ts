import * as z from "zod";
import { answerExtSchema } from "../../shared/answer-extension.ts";
import {
  outputItem,
  refusalContent,
  responseSchema,
  summaryContent,
  textContent,
} from "./wire-response.ts";

const index = z.number().int().nonnegative();

function event<Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) {
  return z.object({
    type: z.literal(type),
    sequence_number: index.describe("From 0, one more each."),
    ...shape,
  });
}

const inItem = { item_id: z.string(), output_index: index };
const inContent = { ...inItem, content_index: index };
const inSummary = { ...inItem, summary_index: index };
const response = { response: responseSchema };
const item = { output_index: index, item: outputItem };
const part = z.discriminatedUnion("type", [textContent, refusalContent]);
const { logprobs } = textContent.shape;

/** One event of a stream. The name in its `event:` line is its type. */
export const responseEventSchema = z.discriminatedUnion("type", [
  event("response.created", response),
  event("response.in_progress", { ...response, ext: answerExtSchema }),
  event("response.output_item.added", item),
  event("response.content_part.added", { ...inContent, part }),
  event("response.output_text.delta", { ...inContent, delta: z.string(), logprobs }),
  event("response.output_text.done", { ...inContent, text: z.string(), logprobs }),
  event("response.refusal.delta", { ...inContent, delta: z.string() }),
  event("response.refusal.done", { ...inContent, refusal: z.string() }),
  event("response.content_part.done", { ...inContent, part }),
  event("response.output_text.annotation.added", {
    ...inContent,
    annotation_index: index,
    annotation: z.looseObject({ type: z.string() }),
  }),
  event("response.file_search_call.in_progress", inItem),
  event("response.file_search_call.searching", inItem),
  event("response.file_search_call.completed", inItem),
  event("response.reasoning_summary_part.added", { ...inSummary, part: summaryContent }),
  event("response.reasoning_summary_text.delta", { ...inSummary, delta: z.string() }),
  event("response.reasoning_summary_text.done", { ...inSummary, text: z.string() }),
  event("response.reasoning_summary_part.done", { ...inSummary, part: summaryContent }),
  event("response.function_call_arguments.delta", { ...inItem, delta: z.string() }),
  event("response.function_call_arguments.done", {
    ...inItem,
    name: z.string(),
    arguments: z.string(),
  }),
  event("response.custom_tool_call_input.delta", { ...inItem, delta: z.string() }),
  event("response.custom_tool_call_input.done", { ...inItem, input: z.string() }),
  event("response.output_item.done", item),
  event("response.completed", response),
  event("response.incomplete", response),
  event("response.failed", response),
]);

export type ResponseEvent = z.infer<typeof responseEventSchema>;
