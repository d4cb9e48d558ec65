import { describe, expect, it } from "vitest";
import { readMultipart } from "../../../simulator/http/read-multipart.ts";
import { type FormWatcher, relayForm } from "../../../src/lib/multipart/multipart-relay.ts";
import { BrokenForm } from "../../../src/lib/multipart/multipart-scanner.ts";
import { BOUNDARY, FORM_TYPE, formBytes } from "../../support/clients/audio-form.ts";

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

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const silent: FormWatcher = {
  reads: new Set(["model", "stream"]),
  onPart: () => undefined,
  onField: ({ value }) => value,
  onEnd: () => [],
};

async function relay(bytes: Uint8Array, watcher: Partial<FormWatcher> = {}, size = bytes.length) {
  const relayed: Uint8Array[] = [];
  const source = pieces(bytes, Math.max(1, size));
  for await (const piece of relayForm(source, BOUNDARY, { ...silent, ...watcher })) {
    relayed.push(piece);
  }
  return Buffer.concat(relayed);
}

describe("A form that is passed on", () => {
  it("is the same form, wherever its bytes are cut", async () => {
    for (let size = 1; size <= FORM.length; size++) {
      expect((await relay(FORM, {}, size)).equals(FORM)).toBe(true);
    }
  });

  it("tells its parts and the fields that are read in their order", async () => {
    const seen: string[] = [];
    await relay(FORM, {
      onPart: ({ name, isFile }) => void seen.push(`${name} ${isFile}`),
      onField: ({ name, value }) => {
        seen.push(`${name}=${value}`);
        return value;
      },
    });
    expect(seen).toEqual([
      "model false",
      "model=whisper",
      "file true",
      "empty false",
      "stream false",
      "stream=true",
      "prompt false",
    ]);
  });

  it("takes another value for a field that is read, and fields at its end", async () => {
    const bytes = await relay(FORM, {
      onField: async ({ name, value }) => (name === "model" ? "other" : value),
      onEnd: async () => [{ name: "added", value: "1" }],
    });
    const parts = readMultipart(FORM_TYPE["content-type"], bytes);
    expect(parts?.map(({ name, body }) => [name, body.toString()])).toEqual([
      ["model", "other"],
      ["file", TRICKY.toString()],
      ["empty", ""],
      ["stream", "true"],
      ["prompt", "ünï ☃\r\n"],
      ["added", "1"],
    ]);
  });

  it("is pulled: nothing is read ahead of who takes it", async () => {
    let read = 0;
    async function* source() {
      for (const piece of [FORM.subarray(0, 200), FORM.subarray(200)]) {
        read += 1;
        yield piece;
      }
    }
    const relayed = relayForm(source(), BOUNDARY, { ...silent, reads: new Set() });
    await relayed.next();
    expect(read).toBe(1);
    await relayed.return(undefined);
    expect(read).toBe(1);
  });

  it("may have a preamble, padding behind a boundary and an epilogue", async () => {
    const text = FORM.toString("latin1").replace(`${BOUNDARY}\r\n`, `${BOUNDARY} \t\r\n`);
    const bytes = Buffer.from(`This is a form.\r\n${text}the end`, "latin1");
    for (const size of [1, 7, bytes.length]) {
      expect((await relay(bytes, {}, size)).equals(FORM)).toBe(true);
    }
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
        const error = await relay(bytes, {}, size).catch((thrown: unknown) => thrown);
        expect(error, name).toBeInstanceOf(BrokenForm);
      }
    }
  });

  it("ends its source when it is given up or refused", async () => {
    for (const watcher of [
      {},
      {
        onPart: () => {
          throw new Error("no");
        },
      },
    ]) {
      let isEnded = false;
      async function* source() {
        try {
          for (;;) yield FORM.subarray(0, 200);
        } finally {
          isEnded = true;
        }
      }
      const relayed = relayForm(source(), BOUNDARY, { ...silent, ...watcher });
      await relayed.next().catch(() => undefined);
      await relayed.return(undefined);
      expect(isEnded).toBe(true);
    }
  });
});
