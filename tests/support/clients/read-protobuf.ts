/** The fields of one message, by their numbers. A number stands for an absent field too, as protobuf has it. */
export interface ProtobufMessage {
  readonly has: (field: number) => boolean;
  readonly number: (field: number) => bigint;
  readonly double: (field: number) => number;
  readonly bytes: (field: number) => Buffer;
  readonly text: (field: number) => string;
  readonly messages: (field: number) => readonly ProtobufMessage[];
}

/** Reads the wire format of protobuf without a schema. Throws on what is none. */
export function readProtobuf(bytes: Buffer): ProtobufMessage {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const readVarint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number) => {
    if (at + length > bytes.length) throw new Error("the message is cut");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(readVarint());
    const [field, kind] = [tag >>> 3, tag & 7];
    const values = fields.get(field) ?? [];
    fields.set(field, values);
    if (kind === 0) values.push(readVarint());
    else if (kind === 1) values.push(take(8).readBigUInt64LE());
    else if (kind === 2) values.push(take(Number(readVarint())));
    else if (kind === 5) values.push(BigInt(take(4).readUInt32LE()));
    else throw new Error(`no field has the kind ${kind}`);
  }
  const last = (field: number) => fields.get(field)?.at(-1);
  const bytesOf = (field: number) => {
    const value = last(field);
    return value instanceof Buffer ? value : Buffer.alloc(0);
  };
  const numberOf = (field: number) => {
    const value = last(field);
    return typeof value === "bigint" ? value : 0n;
  };
  return {
    has: (field) => fields.has(field),
    number: numberOf,
    double(field) {
      const buffer = Buffer.alloc(8);
      buffer.writeBigUInt64LE(numberOf(field));
      return buffer.readDoubleLE();
    },
    bytes: bytesOf,
    text: (field) => bytesOf(field).toString(),
    messages: (field) =>
      (fields.get(field) ?? []).flatMap((value) =>
        value instanceof Buffer ? [readProtobuf(value)] : [],
      ),
  };
}
