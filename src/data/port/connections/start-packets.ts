import { FieldReader, int32, message, text } from "../protocol/fields.ts";
import { ConnectionRefusal, ForeignBytes, protocolViolation } from "./connection-refusal.ts";
import type { StartReader } from "./start-reader.ts";

/** What a client sends first: it has no type, only a length and a code. */
export type StartPacket =
  | { readonly kind: "tls" }
  | { readonly kind: "gss" }
  | { readonly kind: "cancel"; readonly processId: number; readonly secret: number }
  | Startup;

export interface Startup {
  readonly kind: "startup";
  readonly minor: number;
  readonly parameters: ReadonlyMap<string, string>;
  /** Protocol options, `_pq_.…`, of which this server knows none. */
  readonly unknownOptions: readonly string[];
}

const LENGTH_BYTES = 4;
const SHORTEST = 8;
/** PostgreSQL's own limit. */
const LONGEST = 10_000;
const CANCEL_BYTES = 16;
const SPECIAL_MAJOR = 1234;
const MAJOR = 3;
const OPTION_PREFIX = "_pq_.";

/** Reads the next packet. Rejects with a ConnectionRefusal. */
export async function readStartPacket(reader: StartReader): Promise<StartPacket> {
  const length = (await reader.read(LENGTH_BYTES)).readInt32BE(0);
  if (length < SHORTEST || length > LONGEST) {
    throw new ForeignBytes("The first bytes are not those of a PostgreSQL client.");
  }
  return parseStartPacket(await reader.read(length - LENGTH_BYTES));
}

/** Parses a packet without its length. Throws a ConnectionRefusal. */
function parseStartPacket(body: Buffer): StartPacket {
  const [major, minor] = [body.readUInt16BE(0), body.readUInt16BE(2)];
  if (major === SPECIAL_MAJOR) return parseSpecial(minor, body);
  if (major !== MAJOR) {
    throw new ConnectionRefusal(
      "0A000",
      `The protocol ${major}.${minor} is not supported. Use a client that speaks 3.0.`,
    );
  }
  return { kind: "startup", minor, ...parseParameters(body.subarray(4)) };
}

function parseSpecial(code: number, body: Buffer): StartPacket {
  const isBare = body.length === SHORTEST - LENGTH_BYTES;
  if (code === 5678 && body.length === CANCEL_BYTES - LENGTH_BYTES) {
    return { kind: "cancel", processId: body.readInt32BE(4), secret: body.readInt32BE(8) };
  }
  if (code === 5679 && isBare) return { kind: "tls" };
  if (code === 5680 && isBare) return { kind: "gss" };
  throw new ForeignBytes(`The request ${SPECIAL_MAJOR}.${code} is not one of PostgreSQL.`);
}

/** Pairs of names and values, each with a NUL at its end, and one NUL after them. */
function parseParameters(body: Buffer): Pick<Startup, "parameters" | "unknownOptions"> {
  if (body.at(-1) !== 0 || (body.length > 1 && body.at(-2) !== 0)) throw malformed();
  const fields = new FieldReader(body.subarray(0, -1));
  const parameters = new Map<string, string>();
  const unknownOptions: string[] = [];
  while (!fields.isAtEnd) {
    const name = fields.text();
    // An empty name is the end of the list, and here more follows it.
    if (name === "" || fields.isAtEnd) throw malformed();
    const value = fields.text();
    if (name.startsWith(OPTION_PREFIX)) unknownOptions.push(name);
    else parameters.set(name, value);
  }
  return { parameters, unknownOptions };
}

const malformed = (): ConnectionRefusal =>
  protocolViolation("The start-up packet is malformed: its last byte must end a list of pairs.");

/** Tells a client of a later protocol that this is 3.0, and which of its options are not known. */
export function negotiateProtocolVersion(unknownOptions: readonly string[]): Buffer {
  return message(
    "v",
    int32(MAJOR * 0x1_00_00),
    int32(unknownOptions.length),
    ...unknownOptions.map(text),
  );
}
