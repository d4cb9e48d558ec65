import { readOverflowFields } from "../../codecs/shared/errors/openai-errors.ts";
import { readVendorError } from "../../codecs/shared/errors/vendor-message.ts";
import type { UpstreamRefusal } from "../upstream/upstream-refusal.ts";

/** Faults of a request that llama.cpp reports with the status of a server error. */
const REQUEST_FAULTS: readonly RegExp[] = [
  /context size has been exceeded/i,
  /input \(\d+ tokens\) is too large to process/i,
  /(?:image|audio|video) input is not supported/i,
  /failed to load image or audio file/i,
  /failed to (?:parse|initialize) (?:grammar|samplers)/i,
  /json schema conversion failed/i,
  /cannot use custom grammar constraints with tools/i,
  /requires? --jinja/i,
  /jinja exception|roles must alternate|system message must be at the beginning/i,
];

/**
 * Reads what llama.cpp reports only in the body of a refusal: by how much a prompt is too long, and whether the request
 * caused a 500.
 */
export function readLlamaCppRefusal(body: string): Partial<UpstreamRefusal> {
  const error = readVendorError(body);
  const overflow = readOverflowFields(error);
  if (overflow !== undefined) return { status: 400, overflow };
  const { code, message } = error ?? {};
  const isRequestFault =
    code === 500 &&
    typeof message === "string" &&
    REQUEST_FAULTS.some((fault) => fault.test(message));
  return isRequestFault ? { status: 400 } : {};
}
