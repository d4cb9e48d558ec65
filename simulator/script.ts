import type { Segments } from "./http/exchange.ts";
import { type HttpRequest, headerOf } from "./http/request-reader.ts";
import { type Json, objectOf } from "./json.ts";
import type { Usage } from "./ledger.ts";

/** Before the headers, after so many events of the stream, or before the terminal marker. */
export type Moment = "headers" | "terminal" | number;

/** Which requests a script is for; every field given must hold. */
interface ScriptMatch {
  readonly path?: string;
  readonly model?: string;
  /** Text that the body holds. */
  readonly body?: string;
  /** Header names in lower case, and text that the value holds. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface ScriptedToolCall {
  readonly name: string;
  /** An object, or the very text of the arguments. */
  readonly arguments: Json | string;
  readonly id?: string;
}

/**
 * What to say to the next request that matches, and what to do to it. A scripted answer is said as it stands:
 * neither `stop` nor the token limit of the request cuts it. What is left out is made up as usual.
 */
export interface Script {
  readonly match?: ScriptMatch;
  /** Requests it holds for; default 1. */
  readonly times?: number | "always";

  readonly text?: string;
  /** Says the text so many times over. */
  readonly repeat?: number;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Length of an event's piece of text or reasoning; default: a token an event. */
  readonly fragmentCharacters?: number;
  /** Length of a piece of a tool call's arguments; default: whole. */
  readonly argumentCharacters?: number;
  /** Sends the pieces of parallel calls in turn. */
  readonly interleaveToolCalls?: boolean;
  /** In OpenAI's words; each format says it in its own. */
  readonly finishReason?: string;
  /** The stop string that ended the text, for formats that tell it. */
  readonly stopReason?: string;
  /** Clouds: the model declines, in these words where the format has room for words. */
  readonly refusal?: string;
  /** Clouds: a filter stops the prompt, before any answer, or the answer after the text. */
  readonly blocked?: "prompt" | "answer";
  /** Clouds that seal what was thought: the seal alone, without a word of it. */
  readonly redactedReasoning?: boolean;
  /** null: none at all. */
  readonly usage?: Usage | null;
  /** vLLM: the figures ride on the chunk with the finish reason, not on one of their own. */
  readonly usageOnFinish?: boolean;

  readonly latencyMs?: number;
  readonly tokensPerSecond?: number;
  readonly segments?: Segments;

  /** This answer instead of any other. */
  readonly respond?: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
  /** Silence; without `forMs` until the client leaves. */
  readonly stall?: { readonly at: Moment; readonly forMs?: number };
  /** reset: RST. fin: the socket is closed mid-answer. end: the answer ends properly, its terminal marker missing. */
  readonly cut?: { readonly at: Moment; readonly how: "reset" | "fin" | "end" };
  /** A line put into the stream: framed as the format frames its events. */
  readonly inject?: { readonly at: Moment; readonly line: string };
  /** Bytes put into the stream as they are. */
  readonly injectRaw?: { readonly at: Moment; readonly bytes: string };
  /** The engine's error object in the stream, and then the end as the engine ends. */
  readonly error?: { readonly at: Moment; readonly body?: unknown };
}

/** The queued scripts; the first that matches a request is used. */
export class ScriptQueue {
  #waiting: { readonly script: Script; left: number }[] = [];

  add(scripts: readonly Script[]): void {
    for (const script of scripts) {
      const left = script.times === "always" ? Number.POSITIVE_INFINITY : (script.times ?? 1);
      this.#waiting.push({ script, left });
    }
  }

  take(request: HttpRequest, model: string | undefined): Script | undefined {
    const found = this.#waiting.find(({ script }) => matches(script.match, request, model));
    if (!found) return undefined;
    found.left -= 1;
    if (found.left <= 0) this.#waiting = this.#waiting.filter((entry) => entry !== found);
    return found.script;
  }

  /** A request that was refused never got to say it: the script waits for the next one. */
  giveBack(script: Script): void {
    const found = this.#waiting.find((entry) => entry.script === script);
    if (found) found.left += 1;
    else this.#waiting.unshift({ script, left: 1 });
  }

  clear(): void {
    this.#waiting = [];
  }

  get size(): number {
    return this.#waiting.length;
  }
}

const looksOnly = /[/:](show|tokenize|count_tokens|input_tokens|countTokens)$/;

/** A script without a marker is for the calls that make something, not for the looks at models and health. */
function matches(
  match: ScriptMatch | undefined,
  request: HttpRequest,
  model: string | undefined,
): boolean {
  if (!match) return request.method === "POST" && !looksOnly.test(request.path);
  const { path, body, headers = {} } = match;
  if (path !== undefined && path !== request.path) return false;
  if (match.model !== undefined && match.model !== model) return false;
  if (body !== undefined && !request.body.includes(body)) return false;
  return Object.entries(headers).every(([name, part]) => headerOf(request, name)?.includes(part));
}

const fields: ReadonlySet<string> = new Set<keyof Script>([
  "match",
  "times",
  "text",
  "repeat",
  "reasoning",
  "toolCalls",
  "fragmentCharacters",
  "argumentCharacters",
  "interleaveToolCalls",
  "finishReason",
  "stopReason",
  "refusal",
  "blocked",
  "redactedReasoning",
  "usage",
  "usageOnFinish",
  "latencyMs",
  "tokensPerSecond",
  "segments",
  "respond",
  "stall",
  "cut",
  "inject",
  "injectRaw",
  "error",
]);

/** Reads a script or a list of them. A field it does not know is an error: a misspelt fault would never strike. */
export function parseScripts(value: unknown): Script[] {
  const list = Array.isArray(value) ? value : [value];
  return list.map((item) => {
    const script = objectOf(item);
    if (!script) throw new Error("a script is an object");
    const unknown = Object.keys(script).find((name) => !fields.has(name));
    if (unknown) throw new Error(`a script has no field "${unknown}"`);
    return script as Script;
  });
}
