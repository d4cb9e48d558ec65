import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { BoundedMemory } from "../../lib/bounded-memory.ts";
import type { JsonObject, JsonValue } from "../../lib/json.ts";
import { createCleanBudget } from "./clean/clean-budget.ts";
import { cleanTool, isTool } from "./clean/clean-tools.ts";
import type { ListedTool, ToolServerLink } from "./tool-server-client.ts";
import { ToolServerFailure } from "./tool-server-failure.ts";

/** One page of a list of tools, as the server sent it. */
export interface ToolPage {
  readonly tools: readonly JsonValue[];
  readonly nextCursor: string | undefined;
}

export type ReadToolPage = (
  server: ToolServerLink,
  cursor: string | undefined,
  signal: AbortSignal,
) => Promise<ToolPage>;

export type ListTools = (
  server: ToolServerLink,
  signal: AbortSignal,
) => Promise<readonly ListedTool[]>;

/** Of all pages together, as JSON. */
export const MAX_LIST_BYTES = 2 ** 20;
const MAX_PAGES = 20;
const MAX_TOOLS = 512;
/** What the schemas of all tools of a list may become, where references repeat parts of them. */
const SCHEMAS = { bytes: 2 ** 20, nodes: 20_000 };
/** The lists that are remembered: one for each of many servers, as long as they are of ordinary size. */
const REMEMBERED = {
  maxEntries: 100,
  maxSize: 16 * 2 ** 20,
  timeToLiveMs: Number.POSITIVE_INFINITY,
};

/**
 * Creates the function that reads and cleans lists of tools. A list that was cleaned before is not cleaned again: the
 * same tools are returned, because most checks of a server find what the last one found.
 */
export function createListTools(readPage: ReadToolPage): ListTools {
  // A list is found by its content, so what is remembered never becomes wrong.
  const cleaned = new BoundedMemory<readonly ListedTool[]>({ now: () => 0 }, REMEMBERED);
  return async (server, signal) => {
    const { items, bytes, digest } = await readList(server, readPage, signal);
    const known = cleaned.get(digest);
    if (known !== undefined) return known;
    const tools = await cleanTools(items, signal);
    cleaned.set(digest, tools, bytes);
    return tools;
  };
}

/** By name. */
type RawTools = Map<JsonValue | undefined, JsonObject>;

/** All that a server lists and that can be offered, before it is cleaned. */
interface RawList {
  readonly items: readonly JsonObject[];
  readonly bytes: number;
  /** Equal for equal lists. */
  readonly digest: string;
}

async function readList(
  server: ToolServerLink,
  readPage: ReadToolPage,
  signal: AbortSignal,
): Promise<RawList> {
  const items: RawTools = new Map();
  const cursors = new Set<string>();
  const hash = createHash("sha256");
  let bytes = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && items.size < MAX_TOOLS; page += 1) {
    const { tools, nextCursor } = await readPage(server, cursor, signal);
    // The page has just been parsed: others have a turn before it is looked at.
    await nextTurn();
    const text = JSON.stringify(tools);
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_LIST_BYTES) throw listTooLarge();
    hash.update(text);
    addTools(items, tools);
    // A server that repeats a cursor would never come to its end.
    if (nextCursor === undefined || cursors.has(nextCursor)) break;
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
  return { items: [...items.values()], bytes, digest: hash.digest("hex") };
}

/** Of two tools with one name, the first one counts. */
function addTools(items: RawTools, tools: readonly JsonValue[]): void {
  for (const item of tools) {
    if (items.size >= MAX_TOOLS) return;
    if (isTool(item) && !items.has(item["name"])) items.set(item["name"], item);
  }
}

/** Between two tools others have a turn: a whole list may take as long as many requests. */
async function cleanTools(
  items: readonly JsonObject[],
  signal: AbortSignal,
): Promise<readonly ListedTool[]> {
  const budget = createCleanBudget(SCHEMAS);
  const tools: ListedTool[] = [];
  for (const item of items) {
    await nextTurn();
    signal.throwIfAborted();
    const tool = cleanTool(item, budget);
    if (tool !== undefined) tools.push(tool);
  }
  return tools;
}

export function listTooLarge(options?: ErrorOptions): ToolServerFailure {
  return new ToolServerFailure(
    "too_large",
    "The tool server's list of tools is larger than 1 MiB. Let it list fewer tools, or shorter descriptions and schemas.",
    options,
  );
}
