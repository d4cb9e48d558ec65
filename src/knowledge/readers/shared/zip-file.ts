import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createInflateRaw, inflateRawSync } from "node:zlib";
import { DAMAGED, PROTECTED, type ReadLimits, UnreadableFile, type ZipFile } from "../reader.ts";

const DIRECTORY_END = Buffer.from("PK\u0005\u0006");
const DIRECTORY_END_BYTES = 22;
const COMMENT_MAX_BYTES = 65_535;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_BYTES = 30;
/** Of the directory: the limit of entries, each with a long name and comment. */
const DIRECTORY_MAX_BYTES = 16 * 1024 * 1024;
/** These values in a directory mean that the numbers are in a 64-bit record. Such archives are beyond every limit. */
const ZIP64_COUNT = 0xffff;
const ZIP64_SIZE = 0xffffffff;
const STORED = 0;
const DEFLATED = 8;
/** Smaller entries are unpacked in one call: the streams of one cost more than its text, and a presentation has thousands. */
const SMALL_PACKED_BYTES = 64 * 1024;
const SMALL_BYTES = 1024 * 1024;

interface Entry {
  readonly name: string;
  readonly isEncrypted: boolean;
  readonly method: number;
  readonly packedBytes: number;
  readonly start: number;
}

/** Reads the directory of an archive. Throws `UnreadableFile`. */
export async function openZip(path: string, size: number, limits: ReadLimits): Promise<ZipFile> {
  const handle = await open(path);
  try {
    const entries = await readDirectory(handle, size, limits);
    return zipFile(path, new Map(entries.map((entry) => [entry.name, entry])), limits);
  } finally {
    await handle.close();
  }
}

async function readDirectory(handle: FileHandle, size: number, limits: ReadLimits) {
  const tail = await readAt(
    handle,
    Math.max(0, size - DIRECTORY_END_BYTES - COMMENT_MAX_BYTES),
    size,
  );
  const end = tail.lastIndexOf(DIRECTORY_END);
  if (end < 0 || end + DIRECTORY_END_BYTES > tail.length) throw damaged();
  const count = tail.readUInt16LE(end + 10);
  const bytes = tail.readUInt32LE(end + 12);
  const start = tail.readUInt32LE(end + 16);
  if (count > limits.zipEntries || count === ZIP64_COUNT || start === ZIP64_SIZE)
    throw tooManyEntries(limits);
  if (bytes > DIRECTORY_MAX_BYTES) throw tooManyEntries(limits);
  return entriesOf(await readAt(handle, start, start + bytes), count);
}

function entriesOf(directory: Buffer, count: number): Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    if (at + ENTRY_BYTES > directory.length) throw damaged();
    if (directory.readUInt32LE(at) !== ENTRY_SIGNATURE) throw damaged();
    const nameEnd = at + ENTRY_BYTES + directory.readUInt16LE(at + 28);
    entries.push({
      // Some programs write backslashes.
      name: directory.toString("utf8", at + ENTRY_BYTES, nameEnd).replaceAll("\\", "/"),
      isEncrypted: (directory.readUInt16LE(at + 8) & 1) === 1,
      method: directory.readUInt16LE(at + 10),
      packedBytes: directory.readUInt32LE(at + 20),
      start: directory.readUInt32LE(at + 42),
    });
    at = nameEnd + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return entries;
}

function zipFile(path: string, entries: ReadonlyMap<string, Entry>, limits: ReadLimits): ZipFile {
  let left = limits.unpackedBytes;
  async function* read(name: string): AsyncGenerator<Uint8Array, void> {
    const entry = entries.get(name);
    if (entry === undefined) throw damaged();
    for await (const bytes of unpack(path, entry)) {
      left -= bytes.length;
      if (left < 0) throw tooLarge(limits);
      yield bytes;
    }
  }
  return {
    names: [...entries.keys()],
    has: (name) => entries.has(name),
    read,
    async measure() {
      for (const name of entries.keys()) for await (const _ of read(name));
      left = limits.unpackedBytes;
    },
  };
}

async function* unpack(path: string, entry: Entry): AsyncGenerator<Uint8Array, void> {
  if (entry.isEncrypted) throw new UnreadableFile("invalid_file", PROTECTED);
  if (entry.packedBytes === 0) return;
  const whole = entry.packedBytes <= SMALL_PACKED_BYTES ? unpackSmall(path, entry) : undefined;
  if (whole !== undefined) {
    yield whole;
    return;
  }
  const start = await startOfData(path, entry);
  const packed = createReadStream(path, { start, end: start + entry.packedBytes - 1 });
  if (entry.method === STORED) yield* packed;
  else if (entry.method === DEFLATED) {
    // Errors of both streams come out of the one that is read.
    const unpacked = pipeline(packed, createInflateRaw(), () => undefined);
    try {
      yield* unpacked;
    } catch (thrown) {
      throw isOfData(thrown) ? damaged() : thrown;
    } finally {
      packed.destroy();
    }
  } else throw damaged();
}

/**
 * Unpacks an entry in one call, which waits for the disk: readers have a process of their own. Returns undefined for what
 * gets too large or cannot be unpacked; the streams then find out why.
 */
function unpackSmall(path: string, entry: Entry): Uint8Array | undefined {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(LOCAL_BYTES);
    const length = readSync(file, header, 0, LOCAL_BYTES, entry.start);
    const packed = Buffer.alloc(entry.packedBytes);
    const start = dataAfter(header.subarray(0, length), entry);
    if (readSync(file, packed, 0, packed.length, start) < packed.length) return undefined;
    if (entry.method === STORED) return packed;
    if (entry.method !== DEFLATED) return undefined;
    return inflateRawSync(packed, { maxOutputLength: SMALL_BYTES });
  } catch (thrown) {
    if (isOfData(thrown)) return undefined;
    throw thrown;
  } finally {
    closeSync(file);
  }
}

function isOfData(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && /^(Z_|ERR_)/.test(String(thrown.code));
}

/** The local header's own lengths differ from the directory's. */
async function startOfData(path: string, { start }: Entry): Promise<number> {
  const handle = await open(path);
  try {
    return dataAfter(await readAt(handle, start, start + LOCAL_BYTES), { start });
  } finally {
    await handle.close();
  }
}

function dataAfter(header: Buffer, { start }: Pick<Entry, "start">): number {
  if (header.length < LOCAL_BYTES || header.readUInt32LE(0) !== LOCAL_SIGNATURE) throw damaged();
  return start + LOCAL_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
}

/** The bytes from `start` to `end`, fewer at the end of the file. */
async function readAt(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.alloc(end - start);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, start + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

const damaged = () => new UnreadableFile("invalid_file", DAMAGED);

function tooManyEntries({ zipEntries }: ReadLimits): UnreadableFile {
  const limit = zipEntries.toLocaleString("en-US");
  return new UnreadableFile("invalid_file", `The file contains more than ${limit} parts.`);
}

function tooLarge({ unpackedBytes }: ReadLimits): UnreadableFile {
  const limit = Math.round(unpackedBytes / 1024 / 1024);
  return new UnreadableFile("invalid_file", `Unpacked, the file has more than ${limit} MiB.`);
}
