import { ServiceError } from "../../core/service-error.ts";
import { isDeeperThan } from "../../lib/json-depth.ts";
import { readWholeBody } from "./read-whole-body.ts";

export interface BodyLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  /** `maxBytes` is the path's own, and not GATEWAY_MAX_BODY_BYTES. */
  readonly isFixed?: true;
  /** Ends the reading when its reason is a `ServiceError`. */
  readonly signal?: AbortSignal;
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A body twice: parsed, and as the text it came as. */
export interface JsonBody {
  readonly body: unknown;
  readonly text: string;
}

/**
 * Reads a JSON body under its limits: type, size while it arrives, time, UTF-8, depth, and only then the parser.
 * Throws a `ServiceError` for each.
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<JsonBody> {
  checkHeaders(request.headers);
  const announced = announcedBytes(request.headers);
  if (announced !== undefined && announced > limits.maxBytes) throw tooLarge(limits);
  const bytes = await readWholeBody(request, {
    announcedBytes: announced,
    maxBytes: limits.maxBytes,
    tooLarge: () => tooLarge(limits),
    brokenOff,
    signal: limits.signal,
  });
  if (bytes.length > limits.maxBytes) throw tooLarge(limits);
  return parse(bytes, limits.maxDepth);
}

function checkHeaders(headers: Headers): void {
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new ServiceError("unsupported_media_type", "Send the body without a content encoding.", {
      param: "Content-Encoding",
    });
  }
  const type = headers.get("content-type");
  if (type === null || !JSON_TYPE.test(type)) {
    throw new ServiceError(
      "unsupported_media_type",
      "Send the body as Content-Type: application/json in UTF-8.",
      { param: "Content-Type" },
    );
  }
}

function announcedBytes(headers: Headers): number | undefined {
  const length = headers.get("content-length");
  return length === null ? undefined : Number(length);
}

function brokenOff(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError("invalid_json", "The body broke off before its end.", { cause: thrown });
}

function parse(bytes: Uint8Array, maxDepth: number): JsonBody {
  if (isDeeperThan(maxDepth, bytes)) {
    throw new ServiceError("invalid_json", `The body nests deeper than ${maxDepth} levels.`);
  }
  try {
    const text = utf8.decode(bytes);
    return { body: JSON.parse(text), text };
  } catch (thrown) {
    throw notJson(thrown);
  }
}

function notJson(thrown: unknown): ServiceError {
  const reason = thrown instanceof TypeError ? "it is not UTF-8" : "it does not parse";
  return new ServiceError("invalid_json", `The body is not valid JSON: ${reason}.`);
}

function tooLarge({ maxBytes, isFixed }: BodyLimits): ServiceError {
  const hint = isFixed ? "" : "; the operator sets GATEWAY_MAX_BODY_BYTES";
  return new ServiceError("request_too_large", `The body is larger than ${maxBytes} bytes${hint}.`);
}
