import type { CacheControl } from "../../../core/chat/chat-request.ts";
import type { JsonObject } from "../../../lib/json/json.ts";

/** A content block or a tool, before it is serialised. */
export interface Block {
  readonly fields: JsonObject;
  /** JSON text of a call's arguments, which must not be parsed and serialised again. */
  readonly input?: string | undefined;
  /** The content of a call's result. */
  readonly content?: readonly Block[] | undefined;
  /** The client's cache breakpoint on this block. */
  readonly cacheControl?: CacheControl | undefined;
}

/** Returns the blocks as JSON text. Only those in `marked` keep their cache breakpoints. */
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

/** Selects the last `limit` blocks with cache breakpoints, the vendor's maximum: each covers everything before it. */
export function lastMarked(blocks: readonly Block[], limit: number): ReadonlySet<Block> {
  const marked = blocks
    .flatMap((block) => [...(block.content ?? []), block])
    .filter(({ cacheControl }) => cacheControl !== undefined);
  return new Set(marked.slice(-limit));
}
