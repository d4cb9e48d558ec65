import type { Call } from "../call.ts";
import { headerOf } from "../http/request-reader.ts";
import { type Json, objectOf } from "../json.ts";
import { invalid } from "./anthropic-error.ts";

const fields = new Set(
  `cache_control container diagnostics inference_geo max_tokens messages metadata model output_config service_tier
   speed stop_sequences stream system thinking tool_choice tools user_profile_id workspace_id`.split(
    /\s+/,
  ),
);
const samplingFields = ["temperature", "top_p", "top_k"];
/** Fields of a beta, and the name of the beta. */
const betaFields: Readonly<Record<string, RegExp>> = {
  context_management: /context-management-/,
  mcp_servers: /mcp-client-/,
  output_format: /structured-outputs-/,
  fallbacks: /fallback/,
  thread: /thread/,
};
/** The first version without sampling parameters. */
const NO_SAMPLING_FROM = "2026-10-21";

/** Throws Anthropic's error for fields that this version, with these betas, does not have. */
export function checkFields({ body, exchange }: Call, besides: readonly string[] = []): void {
  const version = headerOf(exchange.request, "anthropic-version") ?? "";
  const betas = headerOf(exchange.request, "anthropic-beta") ?? "";
  const hasField = (name: string) =>
    fields.has(name) ||
    betaFields[name]?.test(betas) === true ||
    (samplingFields.includes(name) && version < NO_SAMPLING_FROM);
  const names = Object.keys(body);
  refuseExtra(names.find((name) => besides.includes(name) || !hasField(name)));
  checkNested(body, "metadata", ["user_id"]);
  checkNested(body, "output_config", ["effort", "format", "task_budget"]);
}

function checkNested(body: Json, field: string, known: readonly string[]): void {
  const unknown = Object.keys(objectOf(body[field]) ?? {}).find((name) => !known.includes(name));
  refuseExtra(unknown === undefined ? undefined : `${field}.${unknown}`);
}

function refuseExtra(name: string | undefined): void {
  if (name !== undefined) throw invalid(`${name}: Extra inputs are not permitted`);
}

/** Throws the error for numbers of the wrong type or range. */
export function checkNumbers(body: Json): void {
  checkRange(body, "temperature", 1);
  checkRange(body, "top_p", 1);
  const topK = body["top_k"];
  if (topK !== undefined && !(Number.isInteger(topK) && Number(topK) >= 0)) {
    throw invalid("top_k: Input should be a valid integer");
  }
}

function checkRange(body: Json, name: string, to: number): void {
  const value = body[name];
  if (value === undefined) return;
  if (typeof value !== "number") throw invalid(`${name}: Input should be a valid number`);
  if (value < 0 || value > to) throw invalid(`${name}: range: 0..${to}`);
}
