import type { CallerMemory } from "../../../core/callers/caller-memory.ts";
import type { ResponseText } from "./responses-form.ts";

/** A stored response with the input of its request. All members except the id are JSON text. */
export interface RememberedResponse {
  /** The id of the response that it continues. */
  readonly previousId: string | undefined;
  /** The `input` of its request, as received. */
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

/** @param responseId the id in the client's form. */
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

/** Deletes a stored response. Returns true when it existed. */
export function forgetResponse(memory: CallerMemory, responseId: string): boolean {
  const requestId = requestIdOf(responseId);
  if (requestId === undefined || memory.find(requestId) === undefined) return false;
  memory.forget(requestId);
  return true;
}

const RESPONSE_ID = /^resp_(.+)$/;
/** An item's id contains the request id of its answer: see `itemId`. */
const ITEM_ID = /^[a-z]+_(.+)_\d+$/;

function requestIdOf(responseId: string): string | undefined {
  return RESPONSE_ID.exec(responseId)?.[1];
}

/** Returns the id of the response that an item with this id belongs to. */
export function responseIdOfItem(itemId: string): string | undefined {
  const requestId = ITEM_ID.exec(itemId)?.[1];
  return requestId === undefined ? undefined : `resp_${requestId}`;
}
