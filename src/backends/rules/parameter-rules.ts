import type { ChatRequest, GenerationParameters } from "../../core/chat-request.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Model } from "../backend.ts";
import { type Condition, holds, type Situation } from "./conditions.ts";
import { dropHarmful } from "./drop-harmful.ts";

/** What becomes of one parameter on its way to a backend. */
export type ParameterRule =
  | { readonly rule: "apply" }
  | { readonly rule: "ignore" }
  /** Cut to what is possible there: to the model's context or its longest answer, by `fitOutput`, before the call. */
  | { readonly rule: "clamp"; readonly to: "context" | "model-limit" }
  /** Sent under another name to the models for which the condition holds. */
  | { readonly rule: "rename"; readonly to: string; readonly when: Condition }
  /** Left out unless all conditions hold. */
  | { readonly rule: "only-when"; readonly all: readonly Condition[] }
  /** Left out when that other one is set, and unless all conditions hold. */
  | {
      readonly rule: "exclusive";
      readonly yieldsTo: NumberParameter;
      readonly all: readonly Condition[];
    }
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
  readonly others: OthersRule;
}

/** What becomes of every further parameter, by its name in the chat-completions format. */
type OthersRule =
  | { readonly rule: "apply"; readonly except: readonly string[] }
  | { readonly rule: "ignore"; readonly forward: readonly string[] };

type NumberParameter = "temperature" | "top_p" | "top_k" | "max_tokens";

/** The column "Local", for both local engines. */
export const LOCAL_PARAMETERS = {
  temperature: { rule: "apply" },
  top_p: { rule: "apply" },
  top_k: { rule: "apply" },
  max_tokens: { rule: "clamp", to: "context" },
  reasoning_effort: { rule: "effort" },
  tools: { rule: "only-when", all: ["tool-capable"] },
  stream: { rule: "apply" },
  others: {
    rule: "apply",
    // What would harm other users of the same engine: their share of it, their cache, their place in the queue, its
    // code and the addresses it calls. What harms by its value is dropped beside these: see `dropHarmful`.
    except: [
      "api_base",
      "base_url",
      "best_of",
      "cache_salt",
      "chat_template",
      "data_parallel_rank",
      "extra_body",
      "keep_alive",
      "kv_transfer_params",
      "logits_processors",
      "lora_request",
      "media_io_kwargs",
      "mm_processor_kwargs",
      "n",
      "priority",
      "prompt_logprobs",
      "request_id",
      "vllm_xargs",
    ],
  },
} satisfies ParameterTable;

type Field = keyof Omit<GenerationParameters, "extra">;

const FIELDS: readonly (readonly [NumberParameter, Field])[] = [
  ["temperature", "temperature"],
  ["top_p", "topP"],
  ["top_k", "topK"],
  ["max_tokens", "maxOutputTokens"],
];
const FIELD_OF = Object.fromEntries(FIELDS) as Readonly<Record<NumberParameter, Field>>;

/** Parameters without a row that have a place of their own in the request; the rest is in `extra`. */
const OTHER_FIELDS: readonly (readonly [name: string, field: Field])[] = [
  ["stop", "stop"],
  ["seed", "seed"],
  ["presence_penalty", "presencePenalty"],
  ["frequency_penalty", "frequencyPenalty"],
  ["response_format", "responseFormat"],
  ["logprobs", "logprobs"],
  ["top_logprobs", "topLogprobs"],
];

type Draft = { -readonly [Name in keyof GenerationParameters]: GenerationParameters[Name] };

/** The request with the row `tools` applied. A passthrough call keeps its tools whatever the table says. */
export function applyToolRule(
  request: ChatRequest,
  model: Model,
  { table, passthrough }: { readonly table: ParameterTable; readonly passthrough: boolean },
): ChatRequest {
  if (passthrough || request.tools.length === 0) return request;
  const isOffered = isKept(table.tools, { request, model, thinks: false });
  return isOffered ? request : withoutTools(request);
}

/** The request without its tools, and without what speaks of them. */
export function withoutTools(request: ChatRequest): ChatRequest {
  const { toolChoice: _choice, parallelToolCalls: _parallel, ...rest } = request;
  return { ...rest, tools: [] };
}

/** What a backend's table leaves of the generation parameters. Effort is left to the effort rule. */
export function applyParameterRules(
  situation: Situation,
  table: ParameterTable,
): GenerationParameters {
  const parameters: Draft = { ...situation.request.parameters };
  const renamed: Record<string, number> = {};
  for (const [name, field] of FIELDS) {
    const rule = table[name];
    const value = parameters[field];
    if (value === undefined) continue;
    const isRenamed = rule.rule === "rename" && holds(rule.when, situation);
    if (isRenamed) renamed[rule.to] = Number(value);
    if (isRenamed || !(isReserved(field, situation) || isKept(rule, situation))) {
      delete parameters[field];
    }
  }
  applyToOthers(parameters, table.others);
  const extra = { ...parameters.extra, ...renamed };
  if (Object.keys(extra).length === 0) delete parameters.extra;
  else parameters.extra = extra;
  return parameters;
}

/** A reservation holds whatever the table says: the limit of the answer is sent, under the name it has there. */
function isReserved(field: Field, { request }: Situation): boolean {
  return field === "maxOutputTokens" && request.reservedOutputTokens !== undefined;
}

function isKept(rule: ParameterRule, situation: Situation): boolean {
  switch (rule.rule) {
    case "apply":
    case "clamp":
    case "effort":
    case "rename":
      return true;
    case "ignore":
      return false;
    case "only-when":
      return holdAll(rule.all, situation);
    case "exclusive":
      return (
        situation.request.parameters[FIELD_OF[rule.yieldsTo]] === undefined &&
        holdAll(rule.all, situation)
      );
  }
}

function holdAll(conditions: readonly Condition[], situation: Situation): boolean {
  return conditions.every((condition) => holds(condition, situation));
}

function applyToOthers(parameters: Draft, rule: OthersRule): void {
  switch (rule.rule) {
    case "apply":
      parameters.extra = pick(parameters.extra, (name) => !rule.except.includes(name));
      if (parameters.extra !== undefined) parameters.extra = dropHarmful(parameters.extra);
      return;
    case "ignore":
      for (const [name, field] of OTHER_FIELDS) {
        if (!rule.forward.includes(name)) delete parameters[field];
      }
      parameters.extra = pick(parameters.extra, (name) => rule.forward.includes(name));
      return;
  }
}

function pick(
  extra: JsonObject | undefined,
  isWanted: (name: string) => boolean,
): JsonObject | undefined {
  if (extra === undefined) return undefined;
  return Object.fromEntries(Object.entries(extra).filter(([name]) => isWanted(name)));
}

/** The request with a temperature on a vendor's own scale, which may end before those of the clients' formats. */
export function capTemperature(request: ChatRequest, hottest: number): ChatRequest {
  const { temperature = 0 } = request.parameters;
  if (temperature <= hottest) return request;
  return { ...request, parameters: { ...request.parameters, temperature: hottest } };
}
