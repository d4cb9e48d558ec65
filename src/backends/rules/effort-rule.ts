import type { ChatRequest } from "../../core/chat/chat-request.ts";
import type { Effort } from "../../core/chat/effort.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { type Model, VENDOR_EFFORTS, type VendorEffort } from "../backend.ts";
import { type Condition, holds } from "./conditions.ts";

/** The setting for an engine: its own default (nothing is sent), thinking off or on, or a level. */
export type EffortSetting = "default" | "off" | "on" | "low" | "medium" | "high" | "max";

type SaidSetting = Exclude<EffortSetting, "default">;

/** One row of the specification's table of reasoning efforts. */
export interface EffortRule {
  readonly table: Readonly<Record<Effort, EffortSetting>>;
  /** Conditions under which nothing is sent, whatever the table says. */
  readonly unless?: readonly Condition[];
  /** Conditions under which thinking is switched off, where the model allows it. */
  readonly offWhen?: readonly Condition[];
  /** The model does not think by default. */
  readonly isOffUnsaid?: true;
  /** Builds the body fields for the setting. */
  readonly fields: (setting: SaidSetting, model: Model, request: ChatRequest) => JsonObject;
}

/** Returns the effort setting for a call. */
export function decideEffort(
  request: ChatRequest,
  model: Model,
  { table, unless = [], offWhen = [] }: EffortRule,
): EffortSetting {
  const situation = { request, model, thinks: true };
  const isCase = (condition: Condition) => holds(condition, situation);
  if (unless.some(isCase)) return "default";
  // By default it may think although the client did not ask for it.
  if (offWhen.some(isCase)) return "off";
  return request.effort === undefined ? "default" : table[request.effort];
}

/** Writes the effort into the request in the engine's own fields. The default writes nothing. */
export function sayEffort(
  request: ChatRequest,
  model: Model,
  { setting, rule }: { readonly setting: EffortSetting; readonly rule: EffortRule },
): ChatRequest {
  if (request.effort === undefined && setting === "default") return request;
  const { effort: _effort, ...rest } = request;
  if (setting === "default") return rest;
  const { extra = {} } = request.parameters;
  const said = rule.fields(setting, model, request);
  if (Object.keys(said).length === 0) return rest;
  return { ...rest, parameters: { ...request.parameters, extra: { ...extra, ...said } } };
}

/**
 * Returns whether the setting follows the requested effort, even at another level.
 *
 * @param isSaid fields for the effort are sent.
 */
export function followsEffort(
  asked: Effort | undefined,
  model: Model,
  {
    setting,
    rule,
    isSaid,
  }: { readonly setting: EffortSetting; readonly rule: EffortRule; readonly isSaid: boolean },
): boolean {
  if (asked === undefined) return true;
  if (asked !== "none") return isSaid && setting !== "off";
  return !model.thinking || isSaid || (setting === "default" && rule.isOffUnsaid === true);
}

/** Returns the model's effort closest to the wanted one, preferring a weaker one; undefined when it accepts none. */
export function nearestEffort(
  wanted: VendorEffort,
  { efforts = [] }: Model,
): VendorEffort | undefined {
  const strength = (effort: VendorEffort) => VENDOR_EFFORTS.indexOf(effort);
  const thinking = efforts.filter((effort) => effort !== "none");
  return thinking.findLast((effort) => strength(effort) <= strength(wanted)) ?? thinking[0];
}
