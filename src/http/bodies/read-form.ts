import { ServiceError } from "../../core/service-error.ts";
import { BrokenForm } from "../../lib/multipart/multipart-scanner.ts";
import {
  type FormPart,
  type MultipartOptions,
  readMultipart,
} from "../../lib/multipart/read-multipart.ts";

type FormSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const FORM_TYPE = /^multipart\/form-data\s*(?:;|$)/i;
const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"]*)"|([^;\s"]+))/i;
/** The grammar of a boundary in RFC 2046, 5.1.1. */
const WELL_FORMED = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;

/**
 * Returns the boundary of a form's parts. Throws `unsupported_media_type` when the body is not a form, or is encoded.
 */
export function formBoundary(headers: Headers): string {
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw unsupported("Send the body without a content encoding.", "Content-Encoding");
  }
  const type = headers.get("content-type") ?? "";
  const [, quoted, plain] = BOUNDARY.exec(type) ?? [];
  const boundary = quoted ?? plain ?? "";
  if (FORM_TYPE.test(type) && WELL_FORMED.test(boundary)) return boundary;
  throw unsupported(
    "Send the body as Content-Type: multipart/form-data with its boundary.",
    "Content-Type",
  );
}

/**
 * Reads a form whose parts are held in memory; its source limits their size. Rejects with `invalid_value` when it is
 * not a valid form, and with errors of the source.
 *
 * @param param is the field that the error names.
 */
export function readForm(
  source: FormSource,
  boundary: string,
  param?: string,
): Promise<readonly FormPart[]> {
  return orRefused(readMultipart(source, { boundary, limits: { fieldBytes: Infinity } }), param);
}

/** Reads a form whose files go where `onFile` says while they arrive. Rejects as `readForm`, and as `onFile` and its sinks. */
export function readUploadForm(
  source: FormSource,
  options: MultipartOptions,
): Promise<readonly FormPart[]> {
  return orRefused(readMultipart(source, options));
}

async function orRefused(
  reading: Promise<readonly FormPart[]>,
  param?: string,
): Promise<readonly FormPart[]> {
  try {
    return await reading;
  } catch (thrown) {
    throw thrown instanceof BrokenForm ? brokenForm(thrown, param) : thrown;
  }
}

function brokenForm({ message }: BrokenForm, param: string | undefined): ServiceError {
  const text = `The body is not a valid multipart form: ${message}.`;
  return new ServiceError("invalid_value", text, { param });
}

function unsupported(message: string, param: string): ServiceError {
  return new ServiceError("unsupported_media_type", message, { param });
}
