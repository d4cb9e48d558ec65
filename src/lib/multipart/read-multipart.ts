import {
  BrokenForm,
  type FormToken,
  MultipartScanner,
  type PartStart,
} from "./multipart-scanner.ts";

/** A part of a form that was read to its end. */
export interface FormPart extends PartStart {
  /** Its bytes, in the pieces they came in; empty where a sink took them. */
  readonly content: readonly Uint8Array[];
}

/** Takes the bytes of a file while they arrive. What it throws ends the form; closing what it opened is its owner's. */
export interface FileSink {
  /** The form is read no further until the promise resolves. */
  readonly write: (bytes: Uint8Array) => void | Promise<void>;
  /** The file is complete. */
  readonly end: () => void | Promise<void>;
}

export interface MultipartOptions {
  readonly boundary: string;
  readonly limits: {
    /** Of one text field. */
    readonly fieldBytes: number;
  };
  /** Where a file goes. Without it files are held in memory: then the source has to bound them. */
  readonly onFile?: (part: PartStart) => FileSink | Promise<FileSink>;
  /** Called at the beginning of each text field. What it throws ends the form. */
  readonly onField?: (part: PartStart) => void;
}

/** Shorter pieces are joined: a piece of one byte would cost the process a hundred. */
const PIECE_MIN_BYTES = 4 * 1024;
const JOINT_BYTES = 16 * 1024;

/**
 * Reads a multipart form to its end, as fast as its files are taken. Resolves with all parts in their order. Rejects with
 * `BrokenForm`, and with what the source or a sink throws; the source is ended early then.
 */
export async function readMultipart(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { boundary, limits, onFile, onField }: MultipartOptions,
): Promise<readonly FormPart[]> {
  const scanner = new MultipartScanner(boundary);
  const parts: FormPart[] = [];
  const joint = Buffer.alloc(JOINT_BYTES);
  const open = (part: PartStart): FileSink | Promise<FileSink> => {
    const content: Uint8Array[] = [];
    parts.push({ ...part, content });
    const held = hold(content, joint);
    if (part.filename === undefined) {
      onField?.(part);
      return holdField(part, held, limits.fieldBytes);
    }
    return onFile?.(part) ?? held;
  };
  let sink: FileSink | undefined;
  const take = async (token: FormToken): Promise<void> => {
    if (token.type === "data") return sink?.write(token.bytes);
    await sink?.end();
    sink = token.type === "part" ? await open(token.part) : undefined;
  };
  for await (const bytes of source) {
    for (const token of scanner.read(bytes)) await take(token);
  }
  scanner.end();
  return parts;
}

function hold(content: Uint8Array[], joint: Buffer): FileSink {
  let used = 0;
  const closeJoint = () => {
    if (used > 0) content.push(Buffer.from(joint.subarray(0, used)));
    used = 0;
  };
  return {
    write(bytes) {
      if (used + bytes.length > joint.length) closeJoint();
      if (bytes.length >= PIECE_MIN_BYTES) {
        closeJoint();
        content.push(bytes);
        return;
      }
      joint.set(bytes, used);
      used += bytes.length;
    },
    end: closeJoint,
  };
}

function holdField({ name }: PartStart, { write, end }: FileSink, maxBytes: number): FileSink {
  let length = 0;
  return {
    write(bytes) {
      length += bytes.length;
      if (length > maxBytes) throw new BrokenForm(`the field '${name}' is too long`);
      return write(bytes);
    },
    end,
  };
}
