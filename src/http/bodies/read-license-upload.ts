import { ServiceError } from "../../core/service-error.ts";
import type { FormPart } from "../../lib/multipart/read-multipart.ts";
import { LICENSE_MAX_BYTES } from "../../license/license-file.ts";
import { readBodyStream } from "./read-body-stream.ts";
import { formBoundary, readForm } from "./read-form.ts";

/** The limit for the bytes that a form with one file adds to it. */
const FORM_MAX_BYTES = 8 * 1024;
const LICENSE_NAME = /\.lic$/i;

/**
 * Returns the text of the only `.lic` file of a multipart form, as Latin-1, so that no byte is lost. Throws
 * `unsupported_media_type`, `request_too_large`, `request_timeout`, or `invalid_value` when the form has other
 * contents.
 */
export async function readLicenseUpload(request: Request): Promise<string> {
  const boundary = formBoundary(request.headers);
  const body = readBodyStream(request, { maxBytes: LICENSE_MAX_BYTES + FORM_MAX_BYTES }, () => {});
  // The whole body is read before any refusal, so that the connection can be reused.
  const pieces: Uint8Array[] = [];
  for await (const bytes of body) pieces.push(bytes);
  const file = onlyFile(await readForm(pieces, boundary, "file"));
  if (file.length <= LICENSE_MAX_BYTES) return file.toString("latin1");
  throw new ServiceError(
    "request_too_large",
    `The file is larger than a license can be, which is ${LICENSE_MAX_BYTES} bytes.`,
  );
}

function onlyFile([part, second]: readonly FormPart[]): Buffer {
  if (part === undefined) {
    throw refuse("The form holds no file; send one with the extension .lic.");
  }
  if (part.filename === undefined || (second !== undefined && second.filename === undefined)) {
    throw refuse("The form holds a text field; send one file and nothing else.");
  }
  if (second !== undefined) throw refuse("The form holds more than one file; send one.");
  if (!LICENSE_NAME.test(part.filename)) throw refuse("The file's name must end in .lic.");
  return Buffer.concat(part.content.slice());
}

function refuse(message: string): ServiceError {
  return new ServiceError("invalid_value", message, { param: "file" });
}
