import type { CallerMemory } from "../../../core/callers/caller-memory.ts";
import type { ResponseText } from "./responses-form.ts";

/** What a stored response adds to the conversation. All members except the id are JSON text. */
export interface RememberedTurn {
  /** The id of the response that it continues. */
  readonly previousId: string | undefined;
  /** The `input` of its request, as received. */
  readonly input: string;
  readonly output: string;
}

/** The texts of a turn, which come first: the rest of a response repeats its request, and is no conversation. */
const TURN_TEXTS = 3;

export function keepResponse(
  memory: CallerMemory,
  requestId: string,
  {
    previousId,
    input,
    response,
  }: Pick<RememberedTurn, "previousId" | "input"> & { readonly response: ResponseText },
): void {
  const { before, output, after } = response;
  memory.keep(requestId, [previousId ?? "", input, output, before, after]);
}

/** @param responseId the id in the client's form. */
export function recallTurn(memory: CallerMemory, responseId: string): RememberedTurn | undefined {
  const requestId = requestIdOf(responseId);
  const texts = requestId === undefined ? undefined : memory.recall(requestId, TURN_TEXTS);
  if (texts === undefined) return undefined;
  const [previousId, input = "", output = ""] = texts;
  return { previousId: previousId || undefined, input, output };
}

/** Returns the JSON text of a stored response. */
export function findResponse(memory: CallerMemory, responseId: string): string | undefined {
  const requestId = requestIdOf(responseId);
  const texts = requestId === undefined ? undefined : memory.find(requestId);
  if (texts === undefined) return undefined;
  const [, , output = "", before = "", after = ""] = texts;
  return before + output + after;
}

/** Deletes a stored response. Returns true when it existed. */
export function forgetResponse(memory: CallerMemory, responseId: string): boolean {
  const requestId = requestIdOf(responseId);
  return requestId !== undefined && memory.forget(requestId);
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
