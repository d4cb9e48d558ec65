import { describe, expect, it } from "vitest";
import { readMultipart as readBySimulator } from "../../../simulator/http/read-multipart.ts";
import { BrokenForm } from "../../../src/lib/multipart/multipart-scanner.ts";
import {
  type FormPart,
  type MultipartOptions,
  readMultipart,
} from "../../../src/lib/multipart/read-multipart.ts";
import { textPart, writeMultipart } from "../../../src/lib/multipart/write-multipart.ts";
import { BOUNDARY, formBytes } from "../../support/clients/audio-form.ts";

/** Full of what looks like the beginning of a boundary. */
const TRICKY = Buffer.from(
  `\r\n--\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--${BOUNDARY}x`.slice(0, -2),
);
const FORM = formBytes([
  { name: "model", value: "whisper" },
  { name: "file", value: TRICKY, filename: 'a";b.wav' },
  { name: "empty", value: "" },
  { name: "stream", value: "true" },
  { name: "prompt", value: "ünï ☃\r\n" },
]);
const CONTENTS = [
  ["model", "whisper"],
  ["file", TRICKY.toString()],
  ["empty", ""],
  ["stream", "true"],
  ["prompt", "ünï ☃\r\n"],
];

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function read(bytes: Uint8Array, given: Partial<MultipartOptions> = {}, size = bytes.length) {
  const options = { boundary: BOUNDARY, limits: { fieldBytes: 8_192 }, ...given };
  return readMultipart(pieces(bytes, Math.max(1, size)), options);
}

const contents = (parts: readonly FormPart[]) =>
  parts.map(({ name, content }) => [name, Buffer.concat(content.slice()).toString()]);

describe("A form that is read", () => {
  it("has the same parts, wherever its bytes are cut", async () => {
    for (let size = 1; size <= FORM.length; size++) {
      expect(contents(await read(FORM, {}, size))).toEqual(CONTENTS);
    }
  });

  it("tells files from text fields, and has their heads as they came", async () => {
    const parts = await read(FORM);
    expect(parts.map(({ filename }) => filename)).toEqual([
      undefined,
      "a",
      undefined,
      undefined,
      undefined,
    ]);
    expect(Buffer.from(parts[1]?.head ?? "").toString()).toBe(
      'Content-Disposition: form-data; name="file"; filename="a";b.wav"\r\nContent-Type: audio/wav',
    );
  });

  it("joins small pieces, so that a form of single bytes is held in few", async () => {
    const recording = Buffer.from(Array.from({ length: 40_000 }, (_, at) => (at * 7) % 256));
    const form = formBytes([{ name: "file", value: recording, filename: "a.wav" }]);
    const [part] = await read(form, {}, 1);
    expect(part?.content.length).toBeLessThan(4);
    expect(Buffer.concat(part?.content.slice() ?? []).equals(recording)).toBe(true);
    const mixed = Array.from({ length: 200 }, (_, at) => form.subarray(at * 250, at * 250 + 250));
    const [again] = await readMultipart([form.subarray(0, 9_000), ...mixed.slice(36)], {
      boundary: BOUNDARY,
      limits: { fieldBytes: 1 },
    });
    expect(Buffer.concat(again?.content.slice() ?? []).equals(recording)).toBe(true);
  });

  it("may have a preamble, padding after a boundary and an epilogue", async () => {
    const text = FORM.toString("latin1").replace(`${BOUNDARY}\r\n`, `${BOUNDARY} \t\r\n`);
    const bytes = Buffer.from(`This is a form.\r\n${text}the end`, "latin1");
    for (const size of [1, 7, bytes.length]) {
      expect(contents(await read(bytes, {}, size))).toEqual(CONTENTS);
    }
  });

  it("has the names of its parameters, and none that stand in quotation marks", async () => {
    const given = [
      'form-data; x="; name=b; filename=b"; name="a"',
      'form-data; name="a"; x="\\"; name=b"',
      'form-data; NAME = a ; x=";name*=b"',
      'form-data; y="1"2"; name=b; z="; name="a"',
    ];
    for (const disposition of given) {
      const head = `Content-Disposition: ${disposition}`;
      const form = Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\nx\r\n--${BOUNDARY}--`);
      const [part] = await read(form);
      expect([part?.name, part?.filename]).toEqual(["a", undefined]);
    }
  });

  it.each([
    ['filename="foo\\"', 'foo"'],
    ["filename=", ""],
    ['filename=""', ""],
  ])("has a file for %s, as browsers write it", async (given, filename) => {
    const head = `Content-Disposition: form-data; name="a"; ${given}`;
    const form = Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\nx\r\n--${BOUNDARY}--`);
    expect(await read(form)).toMatchObject([{ name: "a", filename }]);
  });

  it("with heads full of quotation marks takes one pass", async () => {
    // Read anew from each mark, these heads would take minutes.
    const head = `Content-Disposition: form-data; name="a" "${'\\"'.repeat(8_000)}`;
    const part = `--${BOUNDARY}\r\n${head}\r\n\r\nx\r\n`;
    const form = Buffer.from(`${part.repeat(1_000)}--${BOUNDARY}--`);
    expect(await read(form)).toHaveLength(1_000);
  });

  it("is refused when it is broken, wherever its bytes are cut", async () => {
    const part = 'Content-Disposition: form-data; name="a"';
    const broken: readonly [string, Buffer][] = [
      ["empty", Buffer.alloc(0)],
      ["no boundary", Buffer.from("hello")],
      ["another boundary", formBytes([{ name: "a", value: "b" }], "other")],
      ["no end", FORM.subarray(0, -6)],
      ["cut in a head", FORM.subarray(0, BOUNDARY.length + 30)],
      ["no name", Buffer.from(`--${BOUNDARY}\r\nContent-Type: a/b\r\n\r\nx\r\n--${BOUNDARY}--`)],
      ...["; name=b", '; name="b"', "; name*=utf-8''b", "; name*0=b", `\r\n${part}`].map(
        (more): [string, Buffer] => [
          `a second name: ${more}`,
          Buffer.from(`--${BOUNDARY}\r\n${part}${more}\r\n\r\nx\r\n--${BOUNDARY}--`),
        ],
      ),
      ...[`; x="${'\\"'.repeat(10)}`, '; x="a.wav'].map((more): [string, Buffer] => [
        `a quoted value without an end: ${more}`,
        Buffer.from(`--${BOUNDARY}\r\n${part}${more}\r\n\r\nx\r\n--${BOUNDARY}--`),
      ]),
      ["no head", Buffer.from(`--${BOUNDARY}\r\n\r\nx\r\n--${BOUNDARY}--`)],
      ["no line end", Buffer.from(`--${BOUNDARY}x\r\n${part}\r\n\r\nx\r\n--${BOUNDARY}--`)],
      ["a long head", Buffer.from(`--${BOUNDARY}\r\n${part}\r\nX: ${"x".repeat(20_000)}\r\n\r\n`)],
      ["a long preamble", Buffer.alloc(70_000, 32)],
      ["a long field", formBytes([{ name: "model", value: "x".repeat(9_000) }])],
      [
        "too many parts",
        formBytes(Array.from({ length: 1_001 }, () => ({ name: "a", value: "" }))),
      ],
    ];
    for (const [name, bytes] of broken) {
      for (const size of [11, bytes.length]) {
        const error = await read(bytes, {}, size).catch((thrown: unknown) => thrown);
        expect(error, name).toBeInstanceOf(BrokenForm);
      }
    }
  });
});

describe("A file of a form", () => {
  it("goes to its sink piece by piece, and is not held", async () => {
    const seen: string[] = [];
    const parts = await read(
      FORM,
      {
        onFile: async ({ name, filename }) => {
          seen.push(`${name} ${filename}`);
          return {
            write: (bytes) => void seen.push(Buffer.from(bytes).toString()),
            end: async () => void seen.push("end"),
          };
        },
      },
      30,
    );
    expect(seen[0]).toBe("file a");
    expect(seen.at(-1)).toBe("end");
    expect(seen.slice(1, -1).join("")).toBe(TRICKY.toString());
    expect(contents(parts)[1]).toEqual(["file", ""]);
  });

  it("is read no faster than its sink takes it", async () => {
    let pulled = 0;
    async function* source() {
      for await (const piece of pieces(FORM, 10)) {
        pulled += 1;
        yield piece;
      }
    }
    let resume: () => void = () => undefined;
    const stopped = new Promise<number>((resolve) => {
      const onFile = () => ({
        write: () =>
          new Promise<void>((resumed) => {
            resume = resumed;
            resolve(pulled);
          }),
        end: () => undefined,
      });
      void readMultipart(source(), { boundary: BOUNDARY, limits: { fieldBytes: 100 }, onFile });
    });
    const before = await stopped;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(pulled).toBe(before);
    resume();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(pulled).toBeGreaterThan(before);
  });

  it("ends the source when its sink fails or the form is refused", async () => {
    for (const [fieldBytes, onFile, error] of [
      [100, () => Promise.reject(new Error("no space")), "no space"],
      [3, undefined, "too long"],
    ] as const) {
      let isEnded = false;
      async function* source() {
        try {
          yield FORM.subarray(0, 200);
          for (;;) yield FORM.subarray(200);
        } finally {
          isEnded = true;
        }
      }
      const reading = readMultipart(source(), {
        boundary: BOUNDARY,
        limits: { fieldBytes },
        ...(onFile !== undefined && { onFile }),
      });
      await expect(reading).rejects.toThrow(error);
      expect(isEnded).toBe(true);
    }
  });
});

describe("A form that is written", () => {
  it("has the heads and contents of its parts, in their order, and added fields", async () => {
    const { contentType, bytes } = writeMultipart([...(await read(FORM)), textPart("added", "1")]);
    const parts = readBySimulator(contentType, Buffer.from(bytes));
    expect(parts?.map(({ name, body }) => [name, body.toString()])).toEqual([
      ...CONTENTS,
      ["added", "1"],
    ]);
    expect(Buffer.from(bytes).includes('filename="a";b.wav"\r\nContent-Type: audio/wav')).toBe(
      true,
    );
  });
});
