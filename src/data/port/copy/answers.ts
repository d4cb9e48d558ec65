import { FieldReader, int32 } from "../protocol/fields.ts";

/** What a database's answer to Execute holds, without a copy of it. */
export interface PortalAnswer {
  /** Everything before the last message, and after it: rows, notices, changed parameters. */
  readonly rest: Buffer;
  /** How the run ended: `C` complete, `s` suspended, `I` an empty text, `E` an error. */
  readonly end: "C" | "s" | "I" | "E";
  readonly endBody: Buffer;
}

const ENDS = new Set(["C", "s", "I", "E"]);
const HEAD_BYTES = 5;
/** They are the embedded database's own: a client was told at its start who it is. */
const UNREPORTED: ReadonlySet<string> = new Set(["session_authorization", "is_superuser"]);

/** Yields the type and the place of each message of whole messages. */
function* messagesOf(bytes: Buffer): Generator<{ type: string; from: number; to: number }> {
  for (let from = 0; from < bytes.length; ) {
    const to = from + 1 + bytes.readInt32BE(from + 1);
    yield { type: String.fromCharCode(bytes[from] ?? 0), from, to };
    from = to;
  }
}

/** Undefined when the database did not answer as it must. */
export function readPortalAnswer(bytes: Buffer): PortalAnswer | undefined {
  let found: { type: string; from: number; to: number } | undefined;
  for (const message of messagesOf(bytes)) if (ENDS.has(message.type)) found = message;
  if (found === undefined) return undefined;
  const { type, from, to } = found;
  const before = bytes.subarray(0, from);
  return {
    rest: to === bytes.length ? before : Buffer.concat([before, bytes.subarray(to)]),
    end: type as PortalAnswer["end"],
    endBody: bytes.subarray(from + HEAD_BYTES, to),
  };
}

/** The messages of some types left out. */
export function without(bytes: Buffer, types: string): Buffer {
  const kept: Buffer[] = [];
  for (const { type, from, to } of messagesOf(bytes)) {
    if (!types.includes(type)) kept.push(bytes.subarray(from, to));
  }
  return kept.length === 1 && kept[0] !== undefined ? kept[0] : Buffer.concat(kept);
}

/** What an answer of ours has for the client: its changed parameters. Throws where the statement failed. */
export function reportsOf(bytes: Buffer): Buffer {
  if (hasError(bytes)) throw new Error("The settings of a session on the copy cannot be set.");
  const reports: Buffer[] = [];
  for (const { type, from, to } of messagesOf(bytes)) {
    if (type !== "S") continue;
    const name = new FieldReader(bytes.subarray(from + HEAD_BYTES, to)).text();
    if (!UNREPORTED.has(name)) reports.push(bytes.subarray(from, to));
  }
  return Buffer.concat(reports);
}

/** The first error alone; undefined where there is none. */
export function errorOf(bytes: Buffer): Buffer | undefined {
  for (const { type, from, to } of messagesOf(bytes)) {
    if (type === "E") return bytes.subarray(from, to);
  }
  return undefined;
}

export const hasError = (bytes: Buffer): boolean => errorOf(bytes) !== undefined;

/** The status of the last ReadyForQuery; undefined where there is none. */
export function readStatus(bytes: Buffer): "I" | "T" | "E" | undefined {
  let status: string | undefined;
  for (const { type, from } of messagesOf(bytes)) {
    if (type === "Z") status = String.fromCharCode(bytes[from + HEAD_BYTES] ?? 0);
  }
  return status as "I" | "T" | "E" | undefined;
}

/** The tag of a CommandComplete, such as `SELECT 5`. */
export const readTag = (body: Buffer): string => body.toString("utf8", 0, body.length - 1);

/** Adds characters to the position in an error, because its statement stood behind others in the client's text. */
export function moveErrors(bytes: Buffer, characters: number): Buffer {
  if (characters === 0) return bytes;
  return Buffer.concat(
    Array.from(messagesOf(bytes), ({ type, from, to }) => {
      if (type !== "E") return bytes.subarray(from, to);
      const fields = bytes
        .toString("latin1", from + HEAD_BYTES, to)
        .split("\0")
        .map((field) =>
          field.startsWith("P") ? `P${Number(field.slice(1)) + characters}` : field,
        );
      const body = Buffer.from(fields.join("\0"), "latin1");
      return Buffer.concat([Buffer.from("E"), int32(body.length + 4), body]);
    }),
  );
}
