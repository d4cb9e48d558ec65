/** Everything in a tar archive comes in blocks of so many bytes. */
export const TAR_BLOCK_BYTES = 512;

const NAME_BYTES = 100;
const MODE = "0000600\0";
const PLAIN_FILE = "0";
/** An entry whose content says more of the entry after it than a header has room for. */
const EXTENDED = "x";
const MAGIC = "ustar\x0000";

export interface TarEntry {
  readonly path: string;
  readonly sizeBytes: number;
}

/** The header of a file; two of them with a note between where the path is too long for one. */
export function writeTarHeader({ path, sizeBytes }: TarEntry, modifiedSeconds: number): Buffer {
  const header = (name: string, bytes: number, kind: string) =>
    block({ path: name, sizeBytes: bytes }, kind, modifiedSeconds);
  if (Buffer.byteLength(path) <= NAME_BYTES) return header(path, sizeBytes, PLAIN_FILE);
  const note = Buffer.from(pathNote(path));
  return Buffer.concat([
    header("long-path", note.length, EXTENDED),
    note,
    Buffer.alloc(paddingOf(note.length)),
    header(path.slice(0, NAME_BYTES), sizeBytes, PLAIN_FILE),
  ]);
}

/** Bytes of zero that follow a content, so that the next header begins a block. */
export function paddingOf(sizeBytes: number): number {
  return (TAR_BLOCK_BYTES - (sizeBytes % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;
}

/** What a header says; `end` for the zeros behind the last entry, undefined for what is no header. */
export function readTarHeader(
  bytes: Buffer,
): (TarEntry & { readonly isNote: boolean }) | "end" | undefined {
  if (bytes.every((byte) => byte === 0)) return "end";
  const sizeBytes = octal(bytes, 124, 12);
  const kind = text(bytes, 156, 1);
  const isSound = octal(bytes, 148, 8) === checksum(bytes) && sizeBytes !== undefined;
  if (!isSound || (kind !== PLAIN_FILE && kind !== EXTENDED)) return undefined;
  return { path: text(bytes, 0, NAME_BYTES), sizeBytes, isNote: kind === EXTENDED };
}

/** The path that a note gives to the entry after it. */
export function pathInNote(note: string): string | undefined {
  return /^\d+ path=(.*)\n$/.exec(note)?.[1];
}

/** `<length> path=<path>`, where the length counts its own digits, too. */
function pathNote(path: string): string {
  const rest = ` path=${path}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  if (String(length).length > String(bytes).length) length += 1;
  return `${length}${rest}`;
}

function block({ path, sizeBytes }: TarEntry, kind: string, modifiedSeconds: number): Buffer {
  const bytes = Buffer.alloc(TAR_BLOCK_BYTES);
  bytes.write(path, 0, "utf8");
  bytes.write(MODE, 100, "latin1");
  bytes.write("0000000\0".repeat(2), 108, "latin1");
  bytes.write(sizeBytes.toString(8).padStart(11, "0"), 124, "latin1");
  bytes.write(modifiedSeconds.toString(8).padStart(11, "0"), 136, "latin1");
  bytes.write(kind, 156, "latin1");
  bytes.write(MAGIC, 257, "latin1");
  bytes.write(`${checksum(bytes).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return bytes;
}

/** The sum of all bytes, with the checksum's own place full of spaces. */
function checksum(bytes: Buffer): number {
  return bytes.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function text(bytes: Buffer, start: number, length: number): string {
  return bytes.toString("utf8", start, start + length).split("\0", 1)[0] ?? "";
}

function octal(bytes: Buffer, start: number, length: number): number | undefined {
  const digits = text(bytes, start, length).trim();
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}
