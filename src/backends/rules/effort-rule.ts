import type { ChatRequest } from "../../core/chat-request.ts";
import type { Effort } from "../../core/effort.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Model, VENDOR_EFFORTS, type VendorEffort } from "../backend.ts";
import { type Condition, holds } from "./conditions.ts";

/** What an engine is told: nothing (its own default), thinking off or on, or how much. */
export type EffortSetting = "default" | "off" | "on" | "low" | "medium" | "high" | "max";

type SaidSetting = Exclude<EffortSetting, "default">;

/** One row of the specification's table of reasoning efforts. */
export interface EffortRule {
  readonly table: Readonly<Record<Effort, EffortSetting>>;
  /** Calls to which nothing is said, whatever the table says. */
  readonly unless?: readonly Condition[];
  /** Calls on which a model that would think does not, as far as it can be kept from it. */
  readonly offWhen?: readonly Condition[];
  /** A model that is told nothing does not think. */
  readonly isOffUnsaid?: true;
  /** The fields of the body that say it. */
  readonly fields: (setting: SaidSetting, model: Model, request: ChatRequest) => JsonObject;
}

/** What an engine is told of the effort of a call. */
export function decideEffort(
  request: ChatRequest,
  model: Model,
  { table, unless = [], offWhen = [] }: EffortRule,
): EffortSetting {
  const situation = { request, model, thinks: true };
  const isCase = (condition: Condition) => holds(condition, situation);
  if (unless.some(isCase)) return "default";
  // It may think although nobody asked it to.
  if (offWhen.some(isCase)) return "off";
  return request.effort === undefined ? "default" : table[request.effort];
}

/** The request with its effort said in the engine's own fields. The default stays unsaid. */
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
 * Whether what a model is told follows the effort that was asked for, be it in another degree.
 *
 * @param isSaid the model is told something of effort.
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

/** The word a model takes that comes closest to what is wanted, rather less than more; undefined when it takes none. */
export function nearestEffort(
  wanted: VendorEffort,
  { efforts = [] }: Model,
): VendorEffort | undefined {
  const strength = (effort: VendorEffort) => VENDOR_EFFORTS.indexOf(effort);
  const thinking = efforts.filter((effort) => effort !== "none");
  return thinking.findLast((effort) => strength(effort) <= strength(wanted)) ?? thinking[0];
}
