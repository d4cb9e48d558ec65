import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { BoundedMemory } from "../../../lib/bounded-memory.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { createCleanBudget } from "../clean/clean-budget.ts";
import { isReplaced } from "../clean/clean-schema.ts";
import { cleanTool, faultOf, shownName } from "../clean/clean-tools.ts";
import type { LeftOutTool, ListedTool, ListedTools, ToolServerLink } from "./tool-server-client.ts";
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

export type ListTools = (server: ToolServerLink, signal: AbortSignal) => Promise<ListedTools>;

/** Of all pages together, as JSON. */
export const MAX_LIST_BYTES = 2 ** 20;
const MAX_PAGES = 20;
const TOO_MANY = "The list has more than 512 tools.";
const TWICE = "An earlier tool of the list has the same name.";
const NO_TOOL = "It is not described as a tool.";
const MAX_TOOLS = 512;
/** Enough to see what is wrong with a list. */
const MAX_LEFT_OUT = 50;
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
  const cleaned = new BoundedMemory<ListedTools>({ now: () => 0 }, REMEMBERED);
  return async (server, signal) => {
    const { bytes, digest, ...list } = await readList(server, readPage, signal);
    const known = cleaned.get(digest);
    if (known !== undefined) return known;
    const listed = await cleanTools(list, signal);
    cleaned.set(digest, listed, bytes);
    return listed;
  };
}

/** By name. */
type RawTools = Map<JsonValue | undefined, JsonObject>;

/** All that a server lists and that can be offered, before it is cleaned. */
interface RawList {
  readonly items: readonly JsonObject[];
  readonly leftOut: LeftOutTool[];
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
  const leftOut: LeftOutTool[] = [];
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
    addTools(items, leftOut, tools);
    // A server that repeats a cursor would never come to its end.
    if (nextCursor === undefined || cursors.has(nextCursor)) break;
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
  return { items: [...items.values()], leftOut, bytes, digest: hash.digest("hex") };
}

/** Of two tools with one name, the first one counts. */
function addTools(items: RawTools, leftOut: LeftOutTool[], tools: readonly JsonValue[]): void {
  for (const item of tools) {
    const fault = items.size >= MAX_TOOLS ? TOO_MANY : faultOf(item);
    if (fault !== undefined || !isJsonObject(item)) leaveOut(leftOut, item, fault ?? NO_TOOL);
    else if (items.has(item["name"])) leaveOut(leftOut, item, TWICE);
    else items.set(item["name"], item);
  }
}

function leaveOut(leftOut: LeftOutTool[], item: JsonValue, reason: string): void {
  if (leftOut.length < MAX_LEFT_OUT) leftOut.push({ name: shownName(item), reason });
}

/** Between two tools others have a turn: a whole list may take as long as many requests. */
async function cleanTools(
  { items, leftOut }: Pick<RawList, "items" | "leftOut">,
  signal: AbortSignal,
): Promise<ListedTools> {
  const budget = createCleanBudget(SCHEMAS);
  const outputBudget = createCleanBudget(SCHEMAS);
  const tools: ListedTool[] = [];
  const replaced: string[] = [];
  for (const item of items) {
    await nextTurn();
    signal.throwIfAborted();
    const tool = cleanTool(item, budget, outputBudget);
    if (tool === undefined) {
      leaveOut(leftOut, item, NO_TOOL);
      continue;
    }
    tools.push(tool);
    if (isReplaced(item["inputSchema"], tool.inputSchema)) replaced.push(tool.name);
  }
  return { tools, leftOut, replaced };
}

export function listTooLarge(options?: ErrorOptions): ToolServerFailure {
  return new ToolServerFailure(
    "too_large",
    "The tool server's list of tools is larger than 1 MiB. Let it list fewer tools, or shorter descriptions and schemas.",
    options,
  );
}
