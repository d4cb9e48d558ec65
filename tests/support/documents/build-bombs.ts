import { closeSync, openSync, writeSync } from "node:fs";
import { constants, deflateRawSync } from "node:zlib";

const MIB = 1024 * 1024;

/** An entry that unpacks to `mib` mebibytes of spaces between two texts. Every block stands for itself, so it is made once. */
function bombEntry(before: string, mib: number, after: string): Buffer {
  const open = { finishFlush: constants.Z_FULL_FLUSH };
  const block = deflateRawSync(Buffer.alloc(MIB, " "), open);
  return Buffer.concat([
    deflateRawSync(before, open),
    ...Array.from({ length: mib }, () => block),
    deflateRawSync(after),
  ]);
}

interface Part {
  readonly name: string;
  readonly method: number;
  readonly data: Buffer;
  readonly flags?: number;
}

/** An archive whose first part unpacks to `mib` mebibytes. */
export function bomb(
  name: string,
  mib: number,
  others: Readonly<Record<string, string>> = {},
): Buffer {
  const before = '<?xml version="1.0"?><w:document xmlns:w="w"><w:p><w:t>';
  const parts: Part[] = [
    { name, method: 8, data: bombEntry(before, mib, "</w:t></w:p></w:document>") },
    ...Object.entries(others).map(([other, text]) => ({
      name: other,
      method: 0,
      data: Buffer.from(text),
    })),
  ];
  return archive(parts);
}

/** An archive as it is, without any check. The checksums of packed parts are wrong, which nobody looks at. */
export function archive(parts: readonly Part[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, method, data, flags = 0 } of parts) {
    const nameBytes = Buffer.from(name);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt32LE(data.length, 18);
    local.writeUInt32LE(data.length, 22);
    local.writeUInt16LE(nameBytes.length, 26);
    directory.push(directoryEntry({ nameBytes, method, flags, size: data.length, offset }));
    files.push(local, nameBytes, data);
    offset += local.length + nameBytes.length + data.length;
  }
  const list = Buffer.concat(directory);
  return Buffer.concat([...files, list, directoryEnd(parts.length, list.length, offset)]);
}

/** Writes an archive with this many empty parts. */
export function writeManyEntries(path: string, count: number): void {
  const file = openSync(path, "w");
  const first = archive([{ name: "word/document.xml", method: 0, data: Buffer.alloc(0) }]);
  const start = first.indexOf("PK\u0001\u0002", 0, "latin1");
  writeSync(file, first.subarray(0, start));
  let bytes = 0;
  for (let at = 0; at < count; at += 10_000) {
    const entries = Array.from({ length: Math.min(10_000, count - at) }, (_, index) =>
      directoryEntry({
        nameBytes: Buffer.from(`p${at + index}`),
        method: 0,
        flags: 0,
        size: 0,
        offset: 0,
      }),
    );
    bytes += writeSync(file, Buffer.concat(entries));
  }
  writeSync(file, directoryEnd(Math.min(count, 0xffff), bytes, start));
  closeSync(file);
}

function directoryEntry(entry: {
  readonly nameBytes: Buffer;
  readonly method: number;
  readonly flags: number;
  readonly size: number;
  readonly offset: number;
}): Buffer {
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(entry.flags, 8);
  header.writeUInt16LE(entry.method, 10);
  header.writeUInt32LE(entry.size, 20);
  header.writeUInt32LE(entry.size, 24);
  header.writeUInt16LE(entry.nameBytes.length, 28);
  header.writeUInt32LE(entry.offset, 42);
  return Buffer.concat([header, entry.nameBytes]);
}

function directoryEnd(count: number, bytes: number, start: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(start, 16);
  return end;
}
