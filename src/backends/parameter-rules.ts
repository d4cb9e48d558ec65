import type { ChatRequest, GenerationParameters } from "../core/chat-request.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Model } from "./backend.ts";

/** What becomes of one parameter on its way to a backend. */
export type ParameterRule =
  | { readonly rule: "apply" }
  | { readonly rule: "ignore" }
  /** Cut to what is possible there: to the model's context by `fitOutput`, before the call. */
  | { readonly rule: "clamp"; readonly to: "context" }
  /** Sent under another name. */
  | { readonly rule: "rename"; readonly to: string }
  /** Left out when that other one is set. */
  | { readonly rule: "exclusive"; readonly yieldsTo: NumberParameter }
  | { readonly rule: "only-when"; readonly model: "tools" | "vision" | "thinking" }
  /** Told by the backend's effort rule. */
  | { readonly rule: "effort" };

/** One column of the specification's table of parameters: its rows, and last what stands in no row. */
export interface ParameterTable {
  readonly temperature: ParameterRule;
  readonly top_p: ParameterRule;
  readonly top_k: ParameterRule;
  readonly max_tokens: ParameterRule;
  readonly reasoning_effort: ParameterRule;
  readonly tools: ParameterRule;
  readonly stream: ParameterRule;
  readonly others: { readonly rule: "apply"; readonly except: readonly string[] };
}

type NumberParameter = "temperature" | "top_p" | "top_k" | "max_tokens";

/** The column "Local", for both local engines. */
export const LOCAL_PARAMETERS: ParameterTable = {
  temperature: { rule: "apply" },
  top_p: { rule: "apply" },
  top_k: { rule: "apply" },
  max_tokens: { rule: "clamp", to: "context" },
  reasoning_effort: { rule: "effort" },
  tools: { rule: "only-when", model: "tools" },
  stream: { rule: "apply" },
  others: {
    rule: "apply",
    // What would harm other users of the same engine: their share of it, their cache, their place in the queue.
    except: [
      "best_of",
      "cache_salt",
      "chat_template",
      "keep_alive",
      "n",
      "priority",
      "request_id",
      "vllm_xargs",
    ],
  },
};

type Field = "temperature" | "topP" | "topK" | "maxOutputTokens";

const FIELDS: readonly (readonly [NumberParameter, Field])[] = [
  ["temperature", "temperature"],
  ["top_p", "topP"],
  ["top_k", "topK"],
  ["max_tokens", "maxOutputTokens"],
];
const FIELD_OF = Object.fromEntries(FIELDS) as Readonly<Record<NumberParameter, Field>>;

/** The request with a backend's parameter table applied. Effort is left to the effort rule. */
export function applyParameterRules(
  request: ChatRequest,
  model: Model,
  table: ParameterTable,
): ChatRequest {
  const offered = isKept(table.tools, request, model) ? request : withoutTools(request);
  return { ...offered, parameters: applyToNumbers(request, model, table) };
}

/** The request without its tools, and without what speaks of them. */
export function withoutTools(request: ChatRequest): ChatRequest {
  const { toolChoice: _choice, parallelToolCalls: _parallel, ...rest } = request;
  return { ...rest, tools: [] };
}

function applyToNumbers(
  request: ChatRequest,
  model: Model,
  table: ParameterTable,
): GenerationParameters {
  const parameters: { -readonly [name in keyof GenerationParameters]: GenerationParameters[name] } =
    { ...request.parameters };
  const renamed: Record<string, number> = {};
  for (const [name, field] of FIELDS) {
    const rule = table[name];
    const value = parameters[field];
    if (value === undefined) continue;
    if (rule.rule === "rename") renamed[rule.to] = value;
    if (rule.rule === "rename" || !isKept(rule, request, model)) delete parameters[field];
  }
  const extra = { ...without(parameters.extra, table.others.except), ...renamed };
  if (Object.keys(extra).length === 0) delete parameters.extra;
  else parameters.extra = extra;
  return parameters;
}

function isKept(rule: ParameterRule, request: ChatRequest, model: Model): boolean {
  switch (rule.rule) {
    case "apply":
    case "clamp":
    case "effort":
    case "rename":
      return true;
    case "ignore":
      return false;
    case "exclusive":
      return request.parameters[FIELD_OF[rule.yieldsTo]] === undefined;
    case "only-when":
      return model[rule.model];
  }
}

function without(extra: JsonObject = {}, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(extra).filter(([name]) => !names.includes(name)));
}
