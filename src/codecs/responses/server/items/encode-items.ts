import type { JsonObject } from "../../../../lib/json/json.ts";
import type { ResponsesForm } from "../responses-form.ts";
import { sealThought, type Thought } from "./reasoning-seal.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** A call with the names that the client knows. */
export interface ClientCall {
  readonly callId: string;
  readonly name: string;
  readonly namespace?: string | undefined;
}

const PREFIXES = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  custom_tool_call: "ctc",
  file_search_call: "fs",
} as const;

/** Returns the id of an output item: deterministic, and unique across all answers. */
export function itemId(type: keyof typeof PREFIXES, requestId: string, outputIndex: number) {
  return `${PREFIXES[type]}_${requestId}_${outputIndex}`;
}

export function encodeMessage(
  id: string,
  status: ItemStatus,
  content: readonly JsonObject[],
): JsonObject {
  return { id, type: "message", status, role: "assistant", content };
}

export function encodeTextPart(
  text: string,
  logprobs: readonly JsonObject[],
  annotations: readonly JsonObject[] = [],
): JsonObject {
  return { type: "output_text", text, annotations, logprobs };
}

export function encodeRefusalPart(refusal: string): JsonObject {
  return { type: "refusal", refusal };
}

/** @param form undefined while the reasoning is in progress. */
export function encodeReasoning(
  id: string,
  thought: Thought,
  form: ResponsesForm | undefined,
): JsonObject {
  const { text, signature, redacted } = thought;
  const isSealed = signature !== undefined || redacted !== undefined;
  const wantsSeal = form !== undefined && (isSealed || form.sealsThoughts);
  return {
    id,
    type: "reasoning",
    summary: text === "" ? [] : [encodeSummary(text)],
    ...(wantsSeal && { encrypted_content: sealThought(thought) }),
  };
}

export function encodeSummary(text: string): JsonObject {
  return { type: "summary_text", text };
}

export function encodeFunctionCall(
  id: string,
  status: ItemStatus,
  call: ClientCall,
  text: string,
): JsonObject {
  return { id, type: "function_call", status, ...encodeNames(call), arguments: text };
}

export function encodeCustomCall(
  id: string,
  status: ItemStatus,
  call: ClientCall,
  input: string,
): JsonObject {
  return { id, type: "custom_tool_call", status, ...encodeNames(call), input };
}

function encodeNames({ callId, name, namespace }: ClientCall): JsonObject {
  return { call_id: callId, name, ...(namespace !== undefined && { namespace }) };
}
