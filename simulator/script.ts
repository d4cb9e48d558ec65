import type { Segments } from "./http/exchange.ts";
import { type HttpRequest, headerOf } from "./http/request-reader.ts";
import { type Json, objectOf } from "./json.ts";
import type { Usage } from "./ledger.ts";

/** A moment in an answer: before the headers, after a number of stream events, or before the terminal marker. */
export type Moment = "headers" | "terminal" | number;

/** The requests that a script applies to; every given field must match. */
interface ScriptMatch {
  readonly path?: string;
  readonly model?: string;
  /** Text that the body must contain. */
  readonly body?: string;
  /** Header names in lower case, each with a text that the value must contain. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface ScriptedToolCall {
  readonly name: string;
  /** An object, or the exact text of the arguments. */
  readonly arguments: Json | string;
  readonly id?: string;
}

/**
 * The answer to the next matching request, and the faults to inject into it. A scripted answer is sent unchanged:
 * neither `stop` nor the token limit of the request truncates it. Omitted parts are generated as usual.
 */
export interface Script {
  readonly match?: ScriptMatch;
  /** The number of requests it applies to; default 1. */
  readonly times?: number | "always";

  readonly text?: string;
  /** Repeats the text this many times. */
  readonly repeat?: number;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** The length of a text or reasoning delta in characters; default: one token per event. */
  readonly fragmentCharacters?: number;
  /** The length of an arguments delta of a tool call in characters; default: all in one. */
  readonly argumentCharacters?: number;
  /** Interleaves the deltas of parallel calls. */
  readonly interleaveToolCalls?: boolean;
  /** The finish reason in OpenAI's words; each format maps it to its own. */
  readonly finishReason?: string;
  /** The stop string that ended the text, for formats that report it. */
  readonly stopReason?: string;
  /** Clouds: the model refuses, with this text if the format has a field for it. */
  readonly refusal?: string;
  /** Clouds: a filter blocks the prompt before any answer, or the answer after the text. */
  readonly blocked?: "prompt" | "answer";
  /** Clouds that seal reasoning: only the seal is sent, without any text. */
  readonly redactedReasoning?: boolean;
  /** Null sends no usage. */
  readonly usage?: Usage | null;
  /** vLLM: the usage is in the chunk with the finish reason, not in a separate chunk. */
  readonly usageOnFinish?: boolean;

  /** Embeddings: the length of the vectors, whatever the model's is. */
  readonly dimensions?: number;

  readonly latencyMs?: number;
  readonly tokensPerSecond?: number;
  readonly segments?: Segments;

  /** Replaces the whole answer. */
  readonly respond?: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
  /** Stalls the answer; without `forMs` until the client leaves. */
  readonly stall?: { readonly at: Moment; readonly forMs?: number };
  /**
   * reset: sends RST. fin: closes the socket in the middle of the answer. end: ends the answer properly, but without
   * its terminal marker.
   */
  readonly cut?: { readonly at: Moment; readonly how: "reset" | "fin" | "end" };
  /** Inserts a line into the stream, framed as an event of the format. */
  readonly inject?: { readonly at: Moment; readonly line: string };
  /** Inserts raw bytes into the stream. */
  readonly injectRaw?: { readonly at: Moment; readonly bytes: string };
  /** Sends the engine's error object in the stream, followed by the engine's usual end. */
  readonly error?: { readonly at: Moment; readonly body?: unknown };
}

/** The queued scripts; the first one that matches a request is used. */
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

  /** Returns a script whose request was refused to the queue, for the next matching request. */
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

/**
 * Reports whether a script matches a request. A script without a matcher applies only to calls that generate something,
 * not to requests for models or health.
 */
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
  "dimensions",
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

/** Reads a script or a list of scripts. An unknown field is an error, because a misspelt fault would never occur. */
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
