import type { ChatRequest } from "../../core/chat/chat-request.ts";
import { isAsked, PARAMETER_NAMES, type ParameterField } from "../../core/chat/parameter-names.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { nativeToolsIgnored } from "./native-tools.ts";
import type { ParameterTable } from "./parameter-rules.ts";

const FIELDS = Object.keys(PARAMETER_NAMES) as ParameterField[];

/**
 * Returns the requested parameters that the engine's tables removed, by their chat-completions names. It compares the
 * two requests, so every removal is reported without further code: by a rule, a list of harmful values, or a
 * concession. Removed members of an object in the extra fields are reported as `options.num_ctx`. Effort is not
 * compared: see `followsEffort`.
 */
export function findIgnored(
  asked: ChatRequest,
  sent: ChatRequest,
  table: ParameterTable,
): string[] {
  const ignored: string[] = [];
  for (const field of FIELDS) {
    if (sent.parameters[field] === undefined && isAsked(asked.parameters, field)) {
      if (!isRenamed(field, sent, table)) ignored.push(PARAMETER_NAMES[field]);
    }
  }
  addIgnoredMembers(ignored, asked.parameters.extra, sent.parameters.extra);
  addIgnoredTools(ignored, asked, sent);
  return ignored;
}

function isRenamed(field: ParameterField, sent: ChatRequest, { max_tokens }: ParameterTable) {
  return (
    field === "maxOutputTokens" &&
    max_tokens.rule === "rename" &&
    sent.parameters.extra?.[max_tokens.to] !== undefined
  );
}

function addIgnoredMembers(
  ignored: string[],
  asked: JsonObject | undefined,
  sent: JsonObject = {},
  prefix = "",
): void {
  if (asked === undefined || asked === sent) return;
  for (const [name, value] of Object.entries(asked)) {
    const kept = Object.hasOwn(sent, name) ? sent[name] : undefined;
    if (kept === value) continue;
    if (kept === undefined) ignored.push(prefix + name);
    else if (prefix === "" && isJsonObject(value) && isJsonObject(kept)) {
      addIgnoredMembers(ignored, value, kept, `${name}.`);
    }
  }
}

function addIgnoredTools(ignored: string[], asked: ChatRequest, sent: ChatRequest): void {
  if (asked.tools.length === 0) return;
  ignored.push(...nativeToolsIgnored(asked, sent));
  const hasPlain = asked.tools.some(({ native }) => native === undefined);
  if (sent.tools.length === 0 && hasPlain) ignored.push("tools");
  const { toolChoice } = asked;
  if (toolChoice !== undefined && toolChoice.type !== sent.toolChoice?.type) {
    ignored.push("tool_choice");
  }
  // By default every model may make several calls in one answer.
  if (asked.parallelToolCalls === false && sent.parallelToolCalls === undefined) {
    ignored.push("parallel_tool_calls");
  }
}
