import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import {
  MessageReader,
  type Received,
  type ServerMessage,
  sendMessage,
} from "../../../src/lib/worker/messages.ts";

const JOB = { job: { text: "zwölf\n", bytes: 3 } };

/** What a process is sent: a job, parts of which two look like lines, and the end. */
async function sent(): Promise<Buffer> {
  const stream = new PassThrough();
  await sendMessage(stream, JOB);
  for (const part of ["", '\n{"job":1}\n', "x".repeat(300)]) {
    const bytes = Buffer.from(part);
    await sendMessage(stream, { bytes: bytes.length }, bytes);
  }
  await sendMessage(stream, { isEnd: true });
  stream.end();
  return buffer(stream);
}

const expected = [
  [JOB, undefined],
  [{ bytes: 0 }, ""],
  [{ bytes: 11 }, '\n{"job":1}\n'],
  [{ bytes: 300 }, "x".repeat(300)],
  [{ isEnd: true }, undefined],
];

const told = ({ head, data }: Received<ServerMessage>) => [head, data?.toString()];

test.each([1, 2, 7, 64, 10_000])("messages in pieces of %i bytes", async (size) => {
  const bytes = await sent();
  const reader = new MessageReader<ServerMessage>();
  const messages: unknown[] = [];
  for (let at = 0; at < bytes.length; at += size)
    messages.push(...reader.read(bytes.subarray(at, at + size)).map(told));
  expect(messages).toEqual(expected);
});

test.each([
  ["a line", `{"job":"${"x".repeat(100)}"}\n`],
  ["a line without an end", "x".repeat(101)],
  ["bytes behind a line", '{"bytes":101}\n'],
  ["half a byte behind a line", '{"bytes":0.5}\nx'],
  ["less than no byte behind a line", '{"bytes":-1}\nx'],
  ["no number of bytes behind a line", '{"bytes":"1"}\nx'],
])("%s, which is too long or no length, ends the reading", (_, text) => {
  const reader = new MessageReader<ServerMessage>(100);
  const before = '{"job":1}\n';
  expect(reader.read(Buffer.from(before + text)).map(told)).toEqual([[{ job: 1 }, undefined]]);
  expect(reader.tooLong).toBe(true);
  expect(reader.read(Buffer.from(before))).toEqual([]);
});

test("bytes of the allowed length are no excess", () => {
  const reader = new MessageReader<ServerMessage>(100);
  const bytes = Buffer.concat([Buffer.from('{"bytes":100}\n'), Buffer.alloc(100)]);
  expect(reader.read(bytes)).toHaveLength(1);
  expect(reader.tooLong).toBe(false);
});
