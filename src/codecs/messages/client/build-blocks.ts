import type { CacheControl } from "../../../core/chat-request.ts";
import type { JsonObject } from "../../../lib/json.ts";

/** A block of content or a tool, before it is written. */
export interface Block {
  readonly fields: JsonObject;
  /** JSON text of the arguments of a call, which must not be parsed and written again. */
  readonly input?: string | undefined;
  /** What is in the result of a call. */
  readonly content?: readonly Block[] | undefined;
  /** Where the client put a mark. */
  readonly cacheControl?: CacheControl | undefined;
}

/** The blocks as JSON text. Only those in `marked` bear their marks. */
export function writeBlocks(blocks: readonly Block[], marked: ReadonlySet<Block>): string {
  return `[${blocks.map((block) => writeBlock(block, marked)).join(",")}]`;
}

function writeBlock(block: Block, marked: ReadonlySet<Block>): string {
  const { fields, input, content, cacheControl } = block;
  const text = JSON.stringify(
    marked.has(block) ? { ...fields, cache_control: cacheControl } : fields,
  );
  const open = text.slice(0, -1);
  if (input !== undefined) return `${open},"input":${input}}`;
  return content === undefined ? text : `${open},"content":${writeBlocks(content, marked)}}`;
}

/** The blocks with marks, of which the vendor takes so many: the last ones, since each covers all that stands before it. */
export function lastMarked(blocks: readonly Block[], limit: number): ReadonlySet<Block> {
  const marked = blocks
    .flatMap((block) => [...(block.content ?? []), block])
    .filter(({ cacheControl }) => cacheControl !== undefined);
  return new Set(marked.slice(-limit));
}
