import { randomUUID } from "node:crypto";
import type { FormPart } from "./read-multipart.ts";

/** A form as it is sent. */
export interface WrittenForm {
  /** With its boundary. */
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

const LINE_END = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");

/** Writes a form with the heads and contents of these parts as they are, under a boundary that no sender can guess. */
export function writeMultipart(parts: readonly Pick<FormPart, "head" | "content">[]): WrittenForm {
  const boundary = `form-${randomUUID()}`;
  const delimiter = Buffer.from(`--${boundary}\r\n`);
  const pieces = parts.flatMap(({ head, content }) => [
    delimiter,
    head,
    HEAD_END,
    ...content,
    LINE_END,
  ]);
  const bytes = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes };
}

/** A text field. The name is one of our own words. */
export function textPart(name: string, value: string): Pick<FormPart, "head" | "content"> {
  const head = Buffer.from(`Content-Disposition: form-data; name="${name}"`);
  return { head, content: [Buffer.from(value)] };
}
