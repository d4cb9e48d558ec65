import type { ChatRequest, GenerationParameters } from "../../core/chat/chat-request.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Model } from "../backend.ts";
import { type Condition, holds, type Situation } from "./conditions.ts";
import { dropHarmful } from "./drop-harmful.ts";

/** The rule for one parameter of a backend. */
export type ParameterRule =
  | { readonly rule: "apply" }
  | { readonly rule: "ignore" }
  /** Limited to the model's context or to its longest answer, by `fitOutput`, before the call. */
  | { readonly rule: "clamp"; readonly to: "context" | "model-limit" }
  /** Sent under another name to models for which the condition holds. */
  | { readonly rule: "rename"; readonly to: string; readonly when: Condition }
  /** Omitted unless all conditions hold. */
  | { readonly rule: "only-when"; readonly all: readonly Condition[] }
  /** Omitted when the other parameter is set, or unless all conditions hold. */
  | {
      readonly rule: "exclusive";
      readonly yieldsTo: NumberParameter;
      readonly all: readonly Condition[];
    }
  /** Written by the backend's effort rule. */
  | { readonly rule: "effort" };

/** One column of the specification's table of parameters: its rows, then the parameters without a row. */
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

/** The rule for all other parameters, by their chat-completions names. */
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
    // Parameters that would harm other users of the engine: their share of it, their cache, their place in the queue,
    // its code and the addresses it calls. `dropHarmful` removes those that are harmful only by their value.
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

/** Parameters without a row that have their own field in the request; the rest is in `extra`. */
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

/**
 * Applies the row `tools` to the request. A passthrough call keeps its tools whatever the table says, and a model that
 * takes tools gets the gateway's own.
 */
export function applyToolRule(
  request: ChatRequest,
  model: Model,
  {
    table,
    passthrough,
    hasOwnTools,
  }: {
    readonly table: ParameterTable;
    readonly passthrough: boolean;
    readonly hasOwnTools?: boolean | undefined;
  },
): ChatRequest {
  if (passthrough || request.tools.length === 0) return request;
  if (hasOwnTools === true && model.tools) return request;
  return isKept(table.tools, { request, model, thinks: false }) ? request : withoutTools(request);
}

/** Removes the tools from the request, and the parameters about them. */
export function withoutTools(request: ChatRequest): ChatRequest {
  const { toolChoice: _choice, parallelToolCalls: _parallel, ...rest } = request;
  return { ...rest, tools: [] };
}

/** Offers these tools instead of the request's, and leaves out a choice that they cannot meet. */
export function withOnlyTools(request: ChatRequest, tools: ChatRequest["tools"]): ChatRequest {
  const { toolChoice, ...rest } = request;
  const isMet =
    toolChoice?.type === "tool"
      ? tools.some(({ name }) => name === toolChoice.name)
      : toolChoice?.type !== "required" || tools.length > 0;
  return { ...rest, tools, ...(isMet && { toolChoice }) };
}

/** Returns the generation parameters that a backend's table leaves. Effort is left to the effort rule. */
export function applyParameterRules(
  situation: Situation,
  table: ParameterTable,
): GenerationParameters {
  const parameters: Draft = { ...situation.request.parameters };
  let renamed: Record<string, number> | undefined;
  for (const [name, field] of FIELDS) {
    const rule = table[name];
    const value = parameters[field];
    if (value === undefined) continue;
    const isRenamed = rule.rule === "rename" && holds(rule.when, situation);
    if (isRenamed) renamed = { ...renamed, [rule.to]: Number(value) };
    if (isRenamed || !(isReserved(field, situation) || isKept(rule, situation))) {
      delete parameters[field];
    }
  }
  applyToOthers(parameters, table.others);
  if (renamed !== undefined) parameters.extra = { ...parameters.extra, ...renamed };
  const { extra } = parameters;
  if (extra !== undefined && Object.keys(extra).length === 0) parameters.extra = undefined;
  return parameters;
}

/**
 * Returns true for the output limit of a call with a reservation. It is sent whatever the table says, under the name
 * that the table gives it.
 */
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

/** Leaves out a `top_k` that stands for all tokens, which clouds refuse; all is what they take without it. */
export function withoutAllTokens(request: ChatRequest): ChatRequest {
  const { topK = 1, ...parameters } = request.parameters;
  return topK >= 1 ? request : { ...request, parameters };
}

/** Caps the temperature to a vendor's scale, which may end lower than those of the clients' formats. */
export function capTemperature(request: ChatRequest, hottest: number): ChatRequest {
  const { temperature = 0 } = request.parameters;
  if (temperature <= hottest) return request;
  return { ...request, parameters: { ...request.parameters, temperature: hottest } };
}
