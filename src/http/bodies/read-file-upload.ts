import { ServiceError } from "../../core/service-error.ts";
import { tooLarge } from "../../knowledge/files/create-file.ts";
import { cleanFilename } from "../../knowledge/files/filename.ts";
import type { FileStore } from "../../knowledge/files/files.ts";
import type { Content, OriginalDraft } from "../../knowledge/files/original-draft.ts";
import { inFilesDir } from "../../knowledge/files/store-failure.ts";
import type { PartStart } from "../../lib/multipart/multipart-scanner.ts";
import type { FileSink, FormPart } from "../../lib/multipart/read-multipart.ts";
import type { BodyStream } from "./read-body-stream.ts";
import { readUploadForm } from "./read-form.ts";

/** Of a text field, all of which are short words. */
const FIELD_MAX_BYTES = 1_024;
/** Text fields that a form may have; each is held in memory. */
const MAX_FIELDS = 16;
/** The limit for the bytes that a form adds to its file. */
export const FORM_MAX_BYTES = 64 * 1024;
const NESTED = /^([a-z_]+)\[([a-z_]+)\]$/;

/** A form that was read to its end. */
export interface FileUpload {
  readonly filename: string;
  /** Finished. Its owner moves or discards it. */
  readonly draft: OriginalDraft;
  readonly content: Content;
  /** The text fields; `a[b]` is the field `b` of the object `a`. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface FileUploadOptions {
  readonly boundary: string;
  readonly store: Pick<FileStore, "originals" | "maxBytes">;
}

/**
 * Writes the file of a form to the disk while it arrives: no more of it is in memory than a few pieces of the body.
 * Rejects with `invalid_value`, `request_too_large`, `storage_unavailable` and errors of the body, and then leaves no
 * file.
 */
export async function readFileUpload(
  body: BodyStream,
  { boundary, store }: FileUploadOptions,
): Promise<FileUpload> {
  let opened: { readonly draft: OriginalDraft; readonly filename: string } | undefined;
  let fields = 0;
  const onFile = async (part: PartStart): Promise<FileSink> => {
    if (part.name !== "file") throw refuse("Send the file in the field 'file'.", part.name);
    if (opened !== undefined) throw refuse("The form holds more than one file; send one.", "file");
    const filename = nameOf(part);
    const draft = await inFilesDir(store.originals.begin);
    opened = { draft, filename };
    return sinkOf(draft, store);
  };
  const onField = () => {
    fields += 1;
    if (fields > MAX_FIELDS) throw refuse("The form holds too many fields.");
  };
  try {
    const limits = { fieldBytes: FIELD_MAX_BYTES };
    const parts = await readUploadForm(body, { boundary, limits, onFile, onField });
    if (opened === undefined) throw refuse("The form holds no file; send one as 'file'.", "file");
    const content = await inFilesDir(opened.draft.finish);
    return { ...opened, content, fields: fieldsOf(parts) };
  } catch (thrown) {
    await opened?.draft.discard();
    throw thrown;
  }
}

function sinkOf(draft: OriginalDraft, store: Pick<FileStore, "maxBytes">): FileSink {
  let length = 0;
  return {
    write(bytes) {
      length += bytes.length;
      if (length > store.maxBytes) throw tooLarge(store);
      return inFilesDir(() => draft.write(bytes));
    },
    end: () => undefined,
  };
}

function nameOf({ filename = "", head }: PartStart): string {
  const isExtended = /filename\*\s*=/i.test(Buffer.from(head).toString("latin1"));
  const name = cleanFilename(isExtended ? decoded(filename) : unescaped(filename));
  if (name !== undefined) return name;
  throw refuse("The file needs a name of 1 to 255 characters.", "file");
}

/** What clients of forms write for a quotation mark and for line ends, which become spaces. */
const ESCAPED: Readonly<Record<string, string>> = { "%22": '"', "%0A": " ", "%0D": " " };

/** Decodes what HTML's forms escape in a name, and nothing else: `100%25.txt` is a name. */
function unescaped(filename: string): string {
  return filename.replaceAll(/%(?:22|0A|0D)/gi, (code) => ESCAPED[code.toUpperCase()] ?? code);
}

/** Decodes the form of RFC 5987: `UTF-8''a%20name.txt`. */
function decoded(text: string): string {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(text) ?? [];
  try {
    return decodeURIComponent(encoded ?? text);
  } catch {
    return text;
  }
}

function fieldsOf(parts: readonly FormPart[]): Readonly<Record<string, unknown>> {
  const fields: Record<string, unknown> = Object.create(null);
  for (const { name, filename, content } of parts) {
    if (filename !== undefined) continue;
    const [, outer, inner] = NESTED.exec(name) ?? [];
    const [owner, key] =
      outer === undefined || inner === undefined
        ? [fields, name]
        : [objectAt(fields, outer), inner];
    if (key in owner) throw refuse("The form holds a field twice.", name);
    owner[key] = Buffer.concat(content.slice()).toString("utf8");
  }
  return fields;
}

function objectAt(fields: Record<string, unknown>, name: string): Record<string, unknown> {
  const known = fields[name] ?? Object.create(null);
  if (typeof known !== "object") throw refuse("The form holds a field twice.", name);
  fields[name] = known;
  return known as Record<string, unknown>;
}

function refuse(message: string, param?: string): ServiceError {
  return new ServiceError("invalid_value", message, { param: param?.slice(0, 100) });
}
