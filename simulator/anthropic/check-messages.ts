import { type Json, objectOf, objectsOf, stringOf } from "../json.ts";
import { openSeal } from "../seals.ts";
import { invalid } from "./anthropic-error.ts";
import type { AnthropicTraits } from "./anthropic-models.ts";
import { checkBlocks } from "./check-blocks.ts";
import type { Thinking } from "./check-thinking.ts";

/** One message, with its content as blocks. */
interface Entry {
  readonly role: string;
  readonly blocks: readonly Json[];
  /** The index in the request. */
  readonly index: number;
}

/** Throws Anthropic's error for an invalid conversation. */
export function checkMessages(body: Json, traits: AnthropicTraits, thinking: Thinking): void {
  const { messages } = body;
  if (messages === undefined) throw invalid("messages: Field required");
  if (!Array.isArray(messages)) throw invalid("messages: Input should be a valid list");
  if (messages.length === 0) throw invalid("messages: at least one message is required");
  const entries = objectsOf(messages).map((message, index) =>
    readEntry(message, index, { traits, isLast: index === messages.length - 1 }),
  );
  checkEnds(entries, traits);
  checkSystemTurns(entries);
  const turns = mergeTurns(entries);
  checkCallsAndResults(turns);
  checkSeals(turns);
  if (thinking.isBudgeted) checkOpensWithThinking(turns);
}

function readEntry(
  message: Json,
  index: number,
  { isLast, traits }: { readonly isLast: boolean; readonly traits: AnthropicTraits },
): Entry {
  const at = `messages.${index}`;
  const unknown = Object.keys(message).find(
    (name) => !["role", "content", "output_config", "cache_control"].includes(name),
  );
  if (unknown !== undefined) throw invalid(`${at}.${unknown}: Extra inputs are not permitted`);
  const role = stringOf(message["role"]);
  if (role === undefined) throw invalid(`${at}.role: Field required`);
  if (role === "system" && !traits.systemTurns) {
    throw invalid("messages: role 'system' is not supported on this model");
  }
  if (!["user", "assistant", "system"].includes(role)) {
    throw invalid(`${at}.role: Input should be 'user' or 'assistant'`);
  }
  const { content } = message;
  if (content === undefined || content === null) throw invalid(`${at}.content: Field required`);
  if (typeof content !== "string" && !Array.isArray(content)) {
    throw invalid(`${at}.content: Input should be a valid string or list`);
  }
  const mayBeEmpty = isLast && role === "assistant";
  if (content.length === 0 && !mayBeEmpty) {
    throw invalid(
      `${at}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
  if (content.length > 0) checkBlocks(blocks, role, `${at}.content`);
  return { role, blocks, index };
}

function checkEnds(entries: readonly Entry[], { prefill }: AnthropicTraits): void {
  if (entries[0]?.role !== "user") {
    throw invalid('messages: first message must use the "user" role');
  }
  const last = entries.at(-1);
  if (last?.role !== "assistant") return;
  if (!prefill) {
    throw invalid(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  }
  const text = stringOf(last.blocks.at(-1)?.["text"]) ?? "";
  if (text !== text.trimEnd()) {
    throw invalid("messages: final assistant content cannot end with trailing whitespace");
  }
}

/** Checks that system messages are between the user's turn and the model's, or at the end. */
function checkSystemTurns(entries: readonly Entry[]): void {
  for (const [place, { role, index }] of entries.entries()) {
    if (role !== "system") continue;
    const [before, after] = [entries[place - 1]?.role, entries[place + 1]?.role];
    if (before === "user" && (after === undefined || after === "assistant")) continue;
    throw invalid(
      `messages.${index}: a system message must follow a user message and come last or before an assistant message`,
    );
  }
}

/** Merges consecutive messages of one role; system messages are skipped. */
function mergeTurns(entries: readonly Entry[]): Entry[] {
  const turns: Entry[] = [];
  for (const entry of entries) {
    if (entry.role === "system") continue;
    const last = turns.at(-1);
    if (last?.role === entry.role) {
      turns[turns.length - 1] = { ...last, blocks: [...last.blocks, ...entry.blocks] };
    } else turns.push(entry);
  }
  return turns;
}

function checkCallsAndResults(turns: readonly Entry[]): void {
  const calls = turns.flatMap((turn) => idsOf(turn, "tool_use", "id"));
  if (new Set(calls).size < calls.length) throw invalid("messages: `tool_use` ids must be unique");
  turns.forEach((turn, position) => {
    checkAnswered(turn, turns[position + 1]);
    checkAnswers(turn, position === 0 ? undefined : turns[position - 1]);
  });
}

function checkAnswers(turn: Entry, before: Entry | undefined): void {
  const results = idsOf(turn, "tool_result", "tool_use_id");
  const known = idsOf(before, "tool_use", "id");
  const orphan = results.find((id) => !known.includes(id));
  if (orphan !== undefined) {
    const place = turn.blocks.findIndex((block) => block["tool_use_id"] === orphan);
    throw invalid(
      `messages.${turn.index}.content.${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    );
  }
  const twice = results.find((id, index) => results.indexOf(id) !== index);
  if (twice === undefined) return;
  throw invalid(
    `messages.${turn.index}.content: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`,
  );
}

/** Checks that the results are first in the next message. */
function checkAnswered(turn: Entry, next: Entry | undefined): void {
  const calls = idsOf(turn, "tool_use", "id");
  const blocks = next?.blocks ?? [];
  const after = blocks.findIndex(({ type }) => type !== "tool_result");
  const leading = after === -1 ? blocks : blocks.slice(0, after);
  const answered = leading.map((block) => String(block["tool_use_id"]));
  const open = calls.filter((id) => !answered.includes(id));
  if (open.length === 0) return;
  throw invalid(
    `messages.${turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );
}

function idsOf(turn: Entry | undefined, type: string, field: string): string[] {
  const blocks = (turn?.blocks ?? []).filter((block) => block["type"] === type);
  return blocks.map((block) => String(block[field]));
}

/** Checks the seals. Each must be genuine; in the last assistant turn it must also match the text. */
function checkSeals(turns: readonly Entry[]): void {
  const last = turns.findLast(({ role }) => role === "assistant");
  for (const turn of turns) {
    turn.blocks.forEach((block, place) => {
      checkSeal(block, `messages.${turn.index}.content.${place}`, turn === last);
    });
  }
}

function checkSeal(block: Json, at: string, isLast: boolean): void {
  if (block["type"] === "redacted_thinking") {
    if (openSeal("redacted", String(block["data"])) !== "foreign") return;
    throw invalid(`${at}: Invalid \`data\` in \`redacted_thinking\` block`);
  }
  if (block["type"] !== "thinking") return;
  const text = String(block["thinking"]);
  const state = openSeal("thinking", String(block["signature"]), text || undefined);
  if (state === "foreign") throw invalid(`${at}: Invalid \`signature\` in \`thinking\` block`);
  if (state === "intact" || !isLast) return;
  throw invalid(
    `${at}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
  );
}

/** Checks that, with a budget, the turn whose tool results come now starts with reasoning. */
function checkOpensWithThinking(turns: readonly Entry[]): void {
  const last = turns.at(-1);
  const isToolTurn =
    last?.role === "user" && last.blocks.some(({ type }) => type === "tool_result");
  const before = turns.at(-2);
  const [first] = before?.blocks ?? [];
  if (!isToolTurn || !before || !first) return;
  if (first["type"] === "thinking" || first["type"] === "redacted_thinking") return;
  throw invalid(
    `messages.${before.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first["type"])}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`,
  );
}

/** Throws the error for too many cache breakpoints in the whole body. */
export function checkCacheMarks(body: Json): void {
  const marks = countMarks([
    body["system"],
    body["messages"],
    body["tools"],
    body["cache_control"],
  ]);
  if (marks <= 4) return;
  throw invalid(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
}

function countMarks(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countMarks(item), 0);
  const object = objectOf(value);
  if (!object) return 0;
  const own = object["cache_control"] == null ? 0 : 1;
  return own + countMarks(object["content"]);
}
