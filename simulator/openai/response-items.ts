import type { Answer } from "../content/answer.ts";
import { createRandom, hexadecimal } from "../content/random.ts";
import { type Json, objectOf, objectsOf, parseJson, stringOf, stringsOf } from "../json.ts";
import type { Script } from "../script.ts";
import { seal } from "../seals.ts";

/** One complete item of a response's output. */
export type ResponseItem =
  | {
      readonly kind: "reasoning";
      readonly id: string;
      readonly pieces: readonly string[];
      readonly sealed: string | undefined;
    }
  | {
      readonly kind: "message";
      readonly id: string;
      readonly pieces: readonly string[];
      readonly repeat: number;
    }
  | { readonly kind: "refusal"; readonly id: string; readonly text: string }
  | {
      readonly kind: "function";
      readonly id: string;
      readonly callId: string;
      readonly name: string;
      readonly text: string;
      readonly namespace: string | undefined;
    }
  | {
      readonly kind: "custom";
      readonly id: string;
      readonly callId: string;
      readonly name: string;
      readonly text: string;
    };

export interface ItemContext {
  readonly body: Json;
  readonly script: Script | undefined;
  /** Unique per response. */
  readonly seed: string;
  readonly reasons: boolean;
}

/** Returns the items of an answer in order: reasoning, text, calls. */
export function responseItems(answer: Answer, context: ItemContext): ResponseItem[] {
  const random = createRandom("items", context.seed);
  const newId = (prefix: string) => `${prefix}_${hexadecimal(random, 48)}`;
  const { script } = context;
  const items: ResponseItem[] = [];
  const thought = answer.reasoning.join("");
  if ((context.reasons && thought !== "") || script?.reasoning || script?.redactedReasoning) {
    items.push({ kind: "reasoning", id: newId("rs"), ...reasoningOf(answer, context) });
  }
  if (script?.refusal !== undefined) {
    items.push({ kind: "refusal", id: newId("msg"), text: script.refusal });
  } else if (answer.text.length > 0 || saysNothing(answer, script)) {
    items.push({ kind: "message", id: newId("msg"), pieces: answer.text, repeat: answer.repeat });
  }
  for (const { id: callId, name, arguments: text } of answer.toolCalls) {
    const tool = findTool(context.body["tools"], name);
    const isCustom = tool?.type === "custom";
    const call = { callId, name, text: isCustom ? inputOf(text) : text };
    if (isCustom) items.push({ kind: "custom", id: newId("ctc"), ...call });
    else items.push({ kind: "function", id: newId("fc"), ...call, namespace: tool?.namespace });
  }
  return items;
}

/**
 * Reports whether an empty message is needed: only if there is no other content and the answer was not truncated while
 * thinking.
 */
function saysNothing({ finishReason, toolCalls }: Answer, script: Script | undefined): boolean {
  return toolCalls.length === 0 && finishReason !== "length" && script?.blocked !== "prompt";
}

function reasoningOf(answer: Answer, { body, script }: ItemContext) {
  const summary = objectOf(body["reasoning"])?.["summary"];
  const isShown = summary != null && script?.redactedReasoning !== true;
  const isSealed = stringsOf(body["include"]).includes("reasoning.encrypted_content");
  const sealed = isSealed ? seal("encrypted", answer.reasoning.join("")) : undefined;
  return { pieces: isShown ? answer.reasoning : [], sealed };
}

function findTool(
  tools: unknown,
  name: string,
  namespace?: string,
): { type: string; namespace: string | undefined } | undefined {
  for (const tool of objectsOf(tools)) {
    if (tool["type"] === "namespace") {
      const found = findTool(tool["tools"], name, stringOf(tool["name"]));
      if (found) return found;
    }
    if (tool["name"] === name) return { type: String(tool["type"]), namespace };
  }
  return undefined;
}

/** Returns the raw text for a custom tool from the function's only argument. */
function inputOf(text: string): string {
  return stringOf(objectOf(parseJson(text))?.["input"]) ?? text;
}
