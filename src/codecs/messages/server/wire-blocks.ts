import * as z from "zod";

// The blocks of a message as clients send them.

/**
 * Calls that the vendor's own servers ran, their results, and the files of the container that they ran in. No other
 * model can use them, so they are dropped.
 */
const HOSTED_TYPE =
  /^(server|mcp)_tool_use$|_tool_result$|^mcp_tool_listing$|^fallback$|^container_upload$/;

const hostedBlock = z
  .looseObject({})
  // With `abort`, a union keeps searching its alternatives for the fault.
  .refine(isHostedBlock, { message: "expected a block of a hosted tool", abort: true })
  .describe(
    "`server_tool_use`, `…_tool_result` and the like of hosted tools are ignored. A `container_upload` of the user is " +
      "refused: files are not stored.",
  );

/** Returns true for a block that only the vendor's own servers can use. */
export function isHostedBlock({ type }: { readonly type?: unknown }): boolean {
  return typeof type === "string" && HOSTED_TYPE.test(type);
}

export const cacheControl = z
  .looseObject({})
  .nullish()
  .describe("Told to vendors that know such marks; others cache by themselves.");

export const textBlock = z.looseObject({
  type: z.literal("text"),
  text: z.string(),
  cache_control: cacheControl,
});

const base64Source = z.looseObject({
  type: z.literal("base64"),
  media_type: z.string(),
  data: z.string().min(1).describe("Base64."),
});
const urlSource = z.looseObject({
  type: z.literal("url"),
  url: z.string().describe("An `http(s)` address."),
});

const image = z.looseObject({
  type: z.literal("image"),
  source: z
    .discriminatedUnion("type", [base64Source, urlSource])
    .describe("Files are not stored: `file` is refused."),
  cache_control: cacheControl,
});

const document = z.looseObject({
  type: z.literal("document"),
  source: z.discriminatedUnion("type", [
    base64Source,
    urlSource,
    z.looseObject({ type: z.literal("text"), data: z.string() }),
    z.looseObject({
      type: z.literal("content"),
      content: z.union([z.string(), z.array(z.discriminatedUnion("type", [textBlock, image]))]),
    }),
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  cache_control: cacheControl,
});

const searchResult = z.looseObject({
  type: z.literal("search_result"),
  source: z.string(),
  title: z.string(),
  content: z.array(textBlock),
  cache_control: cacheControl,
});

const toolReference = z.looseObject({
  type: z.literal("tool_reference"),
  tool_name: z.string(),
  cache_control: cacheControl,
});

const toolResult = z.looseObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string().min(1),
  content: z
    .union([
      z.string(),
      z.array(
        z.discriminatedUnion("type", [textBlock, image, document, searchResult, toolReference]),
      ),
    ])
    .nullish(),
  is_error: z.boolean().nullish(),
  cache_control: cacheControl,
});

const thinking = z.looseObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string().nullish().describe("As an earlier answer gave it."),
});
const redactedThinking = z.looseObject({
  type: z.literal("redacted_thinking"),
  data: z.string(),
});

const compaction = z.looseObject({
  type: z.literal("compaction"),
  content: z.string().nullish().describe("Read as text: it stands for the turns before it."),
  cache_control: cacheControl,
});

const toolUse = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.looseObject({}),
  cache_control: cacheControl,
});

const knownUserBlock = z.discriminatedUnion("type", [
  textBlock,
  image,
  document,
  searchResult,
  toolResult,
]);
const knownAssistantBlock = z.discriminatedUnion("type", [
  textBlock,
  thinking,
  redactedThinking,
  compaction,
  toolUse,
]);

export const userBlock = z.union([knownUserBlock, hostedBlock]);
export const assistantBlock = z.union([knownAssistantBlock, hostedBlock]);

export type UserBlock = z.infer<typeof knownUserBlock>;
export type AssistantBlock = z.infer<typeof knownAssistantBlock>;
export type ToolResultBlock = z.infer<typeof toolResult>;
/** A block in a user's turn, a result or a document. */
export type ContentBlock = Exclude<UserBlock, ToolResultBlock> | z.infer<typeof toolReference>;
