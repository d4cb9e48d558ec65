import { isJsonObject } from "../../lib/json.ts";
import { readVendorError } from "../shared/vendor-message.ts";

const SECONDS = /^(\d+(?:\.\d+)?)s$/;

/** The whole seconds to wait that the body of a refusal asks for, in place of a header; undefined when it asks for none. */
export function readRetryDelay(body: string): number | undefined {
  const { details } = readVendorError(body) ?? {};
  if (!Array.isArray(details)) return undefined;
  for (const detail of details) {
    const { retryDelay } = isJsonObject(detail) ? detail : {};
    const seconds = typeof retryDelay === "string" ? SECONDS.exec(retryDelay)?.[1] : undefined;
    if (seconds !== undefined) return Math.max(1, Math.ceil(Number(seconds)));
  }
  return undefined;
}
