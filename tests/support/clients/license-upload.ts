import { callGateway } from "./call-gateway.ts";
import type { RawResponse } from "./raw-client.ts";

const BOUNDARY = "a-boundary-of-the-tests";
const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** One part of a form; without a file name it is a text field. */
export interface FormPiece {
  readonly name?: string;
  readonly fileName?: string;
  /** In place of `filename="…"`. */
  readonly disposition?: string;
  readonly content: string | Uint8Array;
}

/** The bytes of a form. */
export function formOf(pieces: readonly FormPiece[]): Buffer {
  const parts = pieces.map(({ name = "file", fileName, disposition, content }) => {
    const file = disposition ?? (fileName === undefined ? "" : `; filename="${fileName}"`);
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from("\r\n")]);
  });
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

/** Sends a body as the upload of a license. */
export function postLicense(
  port: number,
  token: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string | undefined>> = {},
): Promise<RawResponse> {
  return callGateway(port, {
    path: "/api/license",
    headers: { authorization: `Bearer ${token}`, "content-type": FORM_TYPE, ...headers },
    body,
  });
}

/** Uploads a license as the console does. */
export function uploadText(port: number, token: string, text: string): Promise<RawResponse> {
  return postLicense(port, token, formOf([{ fileName: "customer.lic", content: text }]));
}
