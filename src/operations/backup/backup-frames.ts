import { ByteSource } from "./archive/byte-source.ts";
import { BackupError } from "./backup-error.ts";

/**
 * A backup on its way from the server to the command: frames of u8 kind, u32 length (little-endian) and content. Only the
 * last one is no data; without it the server has broken off.
 */
const KIND = { data: 1, end: 2, failure: 3 } as const;
const HEAD_BYTES = 5;
/** Ours are a quarter of that. */
const CONTENT_MAX_BYTES = 1024 * 1024;

/** The bytes in frames, with their end or what went wrong. `describe` gives the text for that. */
export async function* writeFrames(
  bytes: AsyncIterable<Buffer>,
  describe: (thrown: unknown) => string,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of bytes) yield frame(KIND.data, chunk);
    yield frame(KIND.end, Buffer.alloc(0));
  } catch (thrown) {
    yield frame(KIND.failure, Buffer.from(describe(thrown)));
  }
}

/** The bytes out of the frames. Throws a BackupError with what the server says went wrong, or that it has broken off. */
export async function* readFrames(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = new ByteSource(chunks, BROKEN_OFF);
  try {
    for (;;) {
      const head = await source.read(HEAD_BYTES);
      const length = head.readUInt32LE(1);
      if (length > CONTENT_MAX_BYTES) throw new BackupError(BROKEN_OFF);
      const content = await source.read(length);
      if (head[0] === KIND.end) return;
      if (head[0] !== KIND.data) throw new BackupError(content.toString("utf8"));
      yield content;
    }
  } catch (thrown) {
    throw thrown instanceof BackupError ? thrown : new BackupError(BROKEN_OFF, { cause: thrown });
  } finally {
    await source.close();
  }
}

const BROKEN_OFF =
  "The server ended before the backup did. Run `backup` again once it is started; see the server's log.";

function frame(kind: number, content: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(kind, 0);
  head.writeUInt32LE(content.length, 1);
  return Buffer.concat([head, content]);
}
