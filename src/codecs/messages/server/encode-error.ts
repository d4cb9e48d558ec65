import type { ContextOverflow } from "../../../core/context-overflow.ts";
import type { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject } from "../../../lib/json.ts";

/** The body of an error, and the data of the event that ends a stream with one. */
export function encodeError(error: ServiceError, requestId: string): JsonObject {
  return {
    type: "error",
    error: { type: error.messagesType, message: messageOf(error), ...detailsOf(error) },
    request_id: requestId,
  };
}

/** By this code Anthropic's client knows that it has to send the whole conversation, and does so by itself. */
function detailsOf({ code }: ServiceError): JsonObject {
  return code === "thread_unsupported_request" ? { details: { error_code: code } } : {};
}

/** This form has no place for the field at fault but the message. */
function messageOf({ message, overflow, param }: ServiceError): string {
  if (overflow !== undefined) return describeOverflow(overflow);
  return param === undefined || message.includes(param) ? message : `${param}: ${message}`;
}

/** In the words that coding agents look for, to make room and go on. */
function describeOverflow({ promptTokens, contextLength }: ContextOverflow): string {
  return promptTokens === undefined || contextLength === undefined
    ? "prompt is too long: it does not fit the model's context"
    : `prompt is too long: ${promptTokens} tokens > ${contextLength} maximum`;
}
