import type { ContextOverflow } from "../../../core/context-overflow.ts";
import type { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject } from "../../../lib/json/json.ts";

/** Returns the body of an error response, which is also the data of an error event. */
export function encodeError(error: ServiceError, requestId: string): JsonObject {
  return {
    type: "error",
    error: { type: error.messagesType, message: messageOf(error), ...detailsOf(error) },
    request_id: requestId,
  };
}

/** On this code, Anthropic's client sends the whole conversation by itself. */
function detailsOf({ code }: ServiceError): JsonObject {
  return code === "thread_unsupported_request" ? { details: { error_code: code } } : {};
}

/** The format has no field for the invalid parameter, so the message names it. */
function messageOf({ message, overflow, param }: ServiceError): string {
  if (overflow !== undefined) return describeOverflow(overflow);
  return param === undefined || message.includes(param) ? message : `${param}: ${message}`;
}

/**
 * Describes an overflow in the words that coding agents search for, so that they shorten the conversation and continue.
 */
function describeOverflow({ promptTokens, contextLength }: ContextOverflow): string {
  return promptTokens === undefined || contextLength === undefined
    ? "prompt is too long: it does not fit the model's context"
    : `prompt is too long: ${promptTokens} tokens > ${contextLength} maximum`;
}
