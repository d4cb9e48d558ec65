import type { Json } from "../json.ts";
import type { ResponseItem } from "./response-items.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** Renders the item as part of a response; an item in progress is still empty. */
export function renderItem(item: ResponseItem, status: ItemStatus): Json {
  const isEmpty = status === "in_progress";
  switch (item.kind) {
    case "reasoning":
      return reasoningItem(item, isEmpty);
    case "message": {
      const text = item.pieces.join("").repeat(item.repeat);
      return messageItem(item.id, status, isEmpty ? [] : [textPart(text)]);
    }
    case "refusal":
      return messageItem(item.id, status, isEmpty ? [] : [refusalPart(item.text)]);
    case "function":
      return {
        id: item.id,
        type: "function_call",
        status,
        arguments: isEmpty ? "" : item.text,
        call_id: item.callId,
        name: item.name,
        ...(item.namespace === undefined ? {} : { namespace: item.namespace }),
      };
    case "custom":
      return {
        id: item.id,
        type: "custom_tool_call",
        status,
        call_id: item.callId,
        input: isEmpty ? "" : item.text,
        name: item.name,
      };
  }
}

function reasoningItem(
  { id, pieces, sealed }: Extract<ResponseItem, { kind: "reasoning" }>,
  isEmpty: boolean,
): Json {
  return {
    id,
    type: "reasoning",
    summary: isEmpty || pieces.length === 0 ? [] : [summaryPart(pieces.join(""))],
    ...(sealed === undefined ? {} : { encrypted_content: sealed }),
  };
}

function messageItem(id: string, status: ItemStatus, content: readonly Json[]): Json {
  return { id, type: "message", status, content, role: "assistant" };
}

export function textPart(text: string): Json {
  return { type: "output_text", annotations: [], logprobs: [], text };
}

export function refusalPart(refusal: string): Json {
  return { type: "refusal", refusal };
}

export function summaryPart(text: string): Json {
  return { type: "summary_text", text };
}
