import { ServiceError } from "../../core/service-error.ts";

const FORM_TYPE = /^multipart\/form-data\s*(?:;|$)/i;
const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"]*)"|([^;\s"]+))/i;
/** RFC 2046, 5.1.1. */
const WELL_FORMED = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;
const TOKEN = /^[0-9A-Za-z'+_.-]+$/;

/** The boundary of a form's parts. Throws `unsupported_media_type` when the body is no form, or is encoded. */
export function multipartBoundary(headers: Headers): string {
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

/** The content type of a form with this boundary. Quoted only where it must be: not every server reads quotes. */
export function multipartType(boundary: string): string {
  const value = TOKEN.test(boundary) ? boundary : `"${boundary}"`;
  return `multipart/form-data; boundary=${value}`;
}

function unsupported(message: string, param: string): ServiceError {
  return new ServiceError("unsupported_media_type", message, { param });
}
