export interface Part {
  readonly name: string;
  readonly filename: string | undefined;
  readonly body: Buffer;
}

/** Returns the parts of a multipart/form-data body; undefined for any other body. */
export function readMultipart(contentType: string, body: Buffer): Part[] | undefined {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (!/^multipart\/form-data/i.test(contentType) || !boundary) return undefined;
  const marker = Buffer.from(`--${boundary}`);
  const parts: Part[] = [];
  let from = body.indexOf(marker);
  while (from !== -1) {
    const start = from + marker.length;
    const next = body.indexOf(marker, start);
    if (next === -1) return parts;
    const part = readPart(body.subarray(start + 2, next - 2));
    if (part) parts.push(part);
    from = next;
  }
  return undefined;
}

function readPart(bytes: Buffer): Part | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  const head = end === -1 ? "" : bytes.toString("utf8", 0, end);
  const name = /[;\s]name="([^"]*)"/i.exec(head)?.[1];
  if (name === undefined) return undefined;
  const filename = /filename="([^"]*)"/i.exec(head)?.[1];
  return { name, filename, body: bytes.subarray(end + 4) };
}
