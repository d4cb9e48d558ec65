import { ServiceError } from "../../core/service-error.ts";
import {
  BrokenForm,
  type FormPart,
  MultipartScanner,
} from "../../lib/multipart/multipart-scanner.ts";
import { LICENSE_MAX_BYTES } from "../../license/license-file.ts";
import { multipartBoundary } from "./multipart-boundary.ts";
import { readBodyStream } from "./read-body-stream.ts";

/** A form with one file takes no more than this around it. */
const FORM_MAX_BYTES = 8 * 1024;
const FILE_NAME = /;\s*filename\*?\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i;
const LICENSE_NAME = /\.lic$/i;

/**
 * The text of the one `.lic` file of a multipart form, as Latin-1, so that no byte of it is lost. Throws
 * `unsupported_media_type`, `request_too_large`, `request_timeout`, or `invalid_value` when the form holds anything else.
 */
export async function readLicenseUpload(request: Request): Promise<string> {
  const boundary = multipartBoundary(request.headers);
  const body = readBodyStream(request, { maxBytes: LICENSE_MAX_BYTES + FORM_MAX_BYTES }, () => {});
  // All of it is read before any of it is refused, so that the connection can be used again.
  const pieces: Uint8Array[] = [];
  for await (const bytes of body) pieces.push(bytes);
  const file = readOnlyFile(Buffer.concat(pieces), boundary);
  if (file.length <= LICENSE_MAX_BYTES) return file.toString("latin1");
  throw new ServiceError(
    "request_too_large",
    `The file is larger than a license can be, which is ${LICENSE_MAX_BYTES} bytes.`,
  );
}

function readOnlyFile(bytes: Buffer, boundary: string): Buffer {
  const file: Uint8Array[] = [];
  let parts = 0;
  try {
    const scanner = new MultipartScanner(boundary);
    for (const token of scanner.read(bytes)) {
      if (token.type === "data") file.push(token.bytes);
      if (token.type === "part") checkPart(token, ++parts);
    }
    scanner.end();
  } catch (thrown) {
    throw thrown instanceof BrokenForm ? brokenForm(thrown) : thrown;
  }
  if (parts === 0) throw refuse("The form holds no file; send one with the extension .lic.");
  return Buffer.concat(file);
}

function checkPart({ isFile, head }: FormPart, number: number): void {
  if (!isFile) throw refuse("The form holds a text field; send one file and nothing else.");
  if (number > 1) throw refuse("The form holds more than one file; send one.");
  const [, quoted, plain] = FILE_NAME.exec(Buffer.from(head).toString("latin1")) ?? [];
  if (!LICENSE_NAME.test(quoted ?? plain ?? "")) {
    throw refuse("The file's name must end in .lic.");
  }
}

function brokenForm({ message }: BrokenForm): ServiceError {
  return refuse(`The body is not a valid multipart form: ${message}.`);
}

function refuse(message: string): ServiceError {
  return new ServiceError("invalid_value", message, { param: "file" });
}
