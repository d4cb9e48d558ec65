import { readQuestion } from "./read-question.ts";
import type { Tool, Turn } from "./turn.ts";
import { valueForSchema } from "./value-for-schema.ts";

const CALLS_LIMIT = 8;
/** Words in the name of a tool that do not describe its subject. */
const commonWords: ReadonlySet<string> = new Set([
  "get",
  "set",
  "list",
  "find",
  "search",
  "the",
  "a",
]);
const asksForAnyTool = /\b(use|call|try|with)\b[^.?!]{0,40}\btools?\b/i;

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/**
 * Chooses the calls that the last user message asks for: every tool that it names, by name or by the words of the name.
 * If the message names only one tool, with several capitalised words ("Oslo and Paris"), that tool is called for each
 * of them.
 */
export function chooseToolCalls(
  turn: Turn,
  random: () => number,
  newCallId: () => string,
): ToolCall[] {
  const last = turn.messages.at(-1);
  if (!last || turn.toolChoice === "none") return [];
  const { text } = readQuestion(last.text);
  const tools = chooseTools(turn, last.role === "tool" ? "" : text);
  const names = properNames(text);
  const words = names.length > 0 ? names : [text.slice(0, 60)];
  const [only] = tools;
  const isRepeated = tools.length === 1 && names.length > 1 && /\band\b|,/.test(text);
  const wanted =
    only && isRepeated
      ? names.map((name) => ({ tool: only, words: [name] }))
      : tools.map((tool) => ({ tool, words: [...words] }));
  return wanted.slice(0, CALLS_LIMIT).map(({ tool, words }) => ({
    id: newCallId(),
    name: tool.name,
    arguments: writeArguments(tool, { words, prompt: text, random }),
  }));
}

function chooseTools({ tools, toolChoice }: Turn, text: string): Tool[] {
  if (typeof toolChoice === "object") return tools.filter(({ name }) => name === toolChoice.name);
  const named = text === "" ? [] : tools.filter((tool) => names(text, tool.name));
  if (named.length > 0) return named;
  return toolChoice === "required" || asksForAnyTool.test(text) ? tools.slice(0, 1) : [];
}

function names(text: string, toolName: string): boolean {
  if (text.includes(toolName)) return true;
  const said = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  const words = toolName
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "" && !commonWords.has(word));
  return words.length > 0 && words.every((word) => said.has(word));
}

/** Returns capitalised words that do not start a sentence. */
function properNames(text: string): string[] {
  return [...text.matchAll(/(?<=[\p{L}\p{N},;:] )\p{Lu}\p{L}+/gu)].map(([word]) => word);
}

function writeArguments(
  { parameters }: Tool,
  context: { words: string[]; prompt: string; random: () => number },
): string {
  const schema = { type: "object", ...parameters };
  return JSON.stringify(valueForSchema(schema, { root: parameters, ...context }));
}
