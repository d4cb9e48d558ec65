import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { hideAddresses } from "../../../lib/text/hide-addresses.ts";

const MAX_MESSAGE_LENGTH = 2_000;

/**
 * Returns a vendor's message from an error body, without addresses and keys; undefined when there is no readable one.
 */
export function readVendorMessage(body: string): string | undefined {
  const error = readVendorError(body);
  return error === undefined ? undefined : vendorMessage(error);
}

/** Returns the error object in a body `{error: {…}}`, or in a list of one such object; undefined when there is none. */
export function readVendorError(body: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(body);
    const outer: unknown = Array.isArray(json) ? json[0] : json;
    const { error } = isJsonObject(outer) ? outer : {};
    return isJsonObject(error) ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the message of an error object, without addresses and keys; undefined when it has no readable one. */
export function vendorMessage({ message }: JsonObject): string | undefined {
  return typeof message === "string" && message.trim() !== ""
    ? hideAddresses(message, MAX_MESSAGE_LENGTH)
    : undefined;
}
