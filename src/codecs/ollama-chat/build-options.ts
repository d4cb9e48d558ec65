import type { GenerationParameters } from "../../core/chat/chat-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";
import type { UpstreamModel } from "../codec.ts";

type Entry = readonly [name: string, value: JsonValue | undefined];

/** Engine options that clients send as fields of the body, by the names clients use. */
const OPTION_BY_FIELD: Readonly<Record<string, string>> = {
  min_p: "min_p",
  mirostat: "mirostat",
  mirostat_eta: "mirostat_eta",
  mirostat_tau: "mirostat_tau",
  num_keep: "num_keep",
  penalize_newline: "penalize_newline",
  repeat_last_n: "repeat_last_n",
  repeat_penalty: "repeat_penalty",
  repetition_penalty: "repeat_penalty",
  tfs_z: "tfs_z",
  typical_p: "typical_p",
};

/** Options that clients may not set: most of them make the engine reload the model while others use it. */
const NEVER_FROM_CLIENTS: ReadonlySet<string> = new Set([
  "f16_kv",
  "logits_all",
  "low_vram",
  "main_gpu",
  "num_batch",
  "num_ctx",
  "num_gpu",
  "num_thread",
  "numa",
  "shift",
  "use_mlock",
  "use_mmap",
  "vocab_only",
  // The limit of the answer is `max_tokens`, which is adjusted to the context and to the key's limits.
  "num_predict",
  // These are the request itself.
  "messages",
  "model",
  "stream",
  "tools",
]);

/** Splits the client's extra fields into engine options and fields of the body. */
export function splitExtra(extra: JsonObject = {}): { options: JsonObject; fields: JsonObject } {
  const options: Entry[] = [];
  const fields: Entry[] = [];
  for (const [name, value] of Object.entries(extra)) {
    if (NEVER_FROM_CLIENTS.has(name)) continue;
    if (name === "options") options.push(...allowedOptions(value));
    else if (Object.hasOwn(OPTION_BY_FIELD, name))
      options.push([OPTION_BY_FIELD[name] ?? name, value]);
    else fields.push([name, value]);
  }
  // `fromEntries` turns a name such as `__proto__` into plain data.
  return { options: Object.fromEntries(options), fields: Object.fromEntries(fields) };
}

/** Returns the names of extra fields that `splitExtra` drops: `num_ctx`, `options.num_ctx`. */
export function namesKeptFromEngine(extra: JsonObject = {}): string[] {
  const isNever = (name: string) => NEVER_FROM_CLIENTS.has(name);
  const { options } = extra;
  const ofOptions = isJsonObject(options) ? Object.keys(options).filter(isNever) : [];
  return [...Object.keys(extra).filter(isNever), ...ofOptions.map((name) => `options.${name}`)];
}

/** Builds the engine's `options`. The gateway's own parameters override the client's extra options. */
export function buildOptions(
  parameters: GenerationParameters,
  model: UpstreamModel,
  extraOptions: JsonObject,
): JsonObject {
  return {
    ...extraOptions,
    ...definedOnly({
      num_ctx: model.contextLength,
      num_predict: parameters.maxOutputTokens,
      temperature: parameters.temperature,
      top_p: parameters.topP,
      top_k: parameters.topK,
      seed: parameters.seed,
      stop: parameters.stop,
      presence_penalty: parameters.presencePenalty,
      frequency_penalty: parameters.frequencyPenalty,
    }),
  };
}

function allowedOptions(value: JsonValue | undefined): readonly Entry[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).filter(([name]) => !NEVER_FROM_CLIENTS.has(name));
}

function definedOnly(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
