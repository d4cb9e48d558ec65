import type { CallerMemory } from "../../../core/caller-memory.ts";
import type { ResponseText } from "./responses-form.ts";

/** A response as it is remembered, with what was asked. All but the id is JSON text. */
export interface RememberedResponse {
  /** The id of the response that it continues. */
  readonly previousId: string | undefined;
  /** The `input` of its request, as it came. */
  readonly input: string;
  readonly response: ResponseText;
}

export function keepResponse(
  memory: CallerMemory,
  requestId: string,
  { previousId, input, response }: RememberedResponse,
): void {
  const { before, output, after } = response;
  memory.keep(requestId, [previousId ?? "", input, before, output, after]);
}

/** @param responseId as a client names it. */
export function findResponse(
  memory: CallerMemory,
  responseId: string,
): RememberedResponse | undefined {
  const requestId = requestIdOf(responseId);
  const texts = requestId === undefined ? undefined : memory.find(requestId);
  if (texts === undefined) return undefined;
  const [previousId, input = "", before = "", output = "", after = ""] = texts;
  return { previousId: previousId || undefined, input, response: { before, output, after } };
}

/** True when there was such a response. */
export function forgetResponse(memory: CallerMemory, responseId: string): boolean {
  const requestId = requestIdOf(responseId);
  if (requestId === undefined || memory.find(requestId) === undefined) return false;
  memory.forget(requestId);
  return true;
}

const RESPONSE_ID = /^resp_(.+)$/;
/** An item's id names its answer: see `itemId`. */
const ITEM_ID = /^[a-z]+_(.+)_\d+$/;

function requestIdOf(responseId: string): string | undefined {
  return RESPONSE_ID.exec(responseId)?.[1];
}

/** The id of the response that an item of this id would be part of. */
export function responseIdOfItem(itemId: string): string | undefined {
  const requestId = ITEM_ID.exec(itemId)?.[1];
  return requestId === undefined ? undefined : `resp_${requestId}`;
}
