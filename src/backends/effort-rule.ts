import type { ChatRequest } from "../core/chat-request.ts";
import type { Effort } from "../core/effort.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Model } from "./backend.ts";

/** What an engine is told: nothing (its own default), thinking off or on, or how much. */
type EffortSetting = "default" | "off" | "on" | "low" | "medium" | "high";

/** One row of the specification's table of reasoning efforts. */
export interface EffortRule {
  readonly table: Readonly<Record<Effort, EffortSetting>>;
  /** The fields of the body that say it, given the client's own further fields. */
  readonly fields: (
    setting: Exclude<EffortSetting, "default">,
    model: Model,
    extra: JsonObject,
  ) => JsonObject;
}

/** The request with its effort said in the engine's own fields. Unset stays unsaid. */
export function applyEffortRule(
  request: ChatRequest,
  model: Model,
  { table, fields }: EffortRule,
): ChatRequest {
  const { effort, ...rest } = request;
  const setting = effort === undefined ? "default" : table[effort];
  if (setting === "default") return rest;
  const { extra = {} } = request.parameters;
  const said = fields(setting, model, extra);
  return { ...rest, parameters: { ...request.parameters, extra: { ...extra, ...said } } };
}
