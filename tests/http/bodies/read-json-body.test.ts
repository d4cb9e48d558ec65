import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/core/service-error.ts";
import {
  type BodyLimits,
  readJsonBody,
  readJsonBytes,
} from "../../../src/http/bodies/read-json-body.ts";
import { leavesBodyUnread } from "../../../src/http/server/leaves-body-unread.ts";

const LIMITS = { maxBytes: 1_000, maxDepth: 4 };

type Headers = Readonly<Record<string, string>>;

/** A body of known length. */
function request(body: string | Uint8Array<ArrayBuffer>, headers: Headers = {}): Request {
  const length = String(Buffer.byteLength(body));
  return new Request("http://gateway/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": length, ...headers },
    body,
  });
}

/** A body whose length nobody announced. */
function chunkedRequest(chunks: readonly Uint8Array[], onCancel: () => void = () => {}): Request {
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = left.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
      cancel: onCancel,
    },
    { highWaterMark: 0 },
  );
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    duplex: "half",
  };
  return new Request("http://gateway/v1/chat/completions", init as RequestInit);
}

const readParsed = async (body: Request, limits: BodyLimits) =>
  (await readJsonBody(body, limits)).body;
const bytes = (text: string) => new TextEncoder().encode(text);

describe("a JSON body", () => {
  it("that was refused on the way is the last of its connection", async () => {
    const piece = bytes('{"a": 1');
    const refusal = new ServiceError("overloaded", "No room.");
    const hold = (size: number) => {
      if (size > piece.length) throw refusal;
    };
    const refused = chunkedRequest([piece, piece, piece]);
    refused.headers.set("transfer-encoding", "chunked");
    await expect(readJsonBody(refused, { ...LIMITS, hold })).rejects.toBe(refusal);
    expect(leavesBodyUnread(refused)).toBe(true);
    const read = chunkedRequest([bytes("{}")]);
    read.headers.set("transfer-encoding", "chunked");
    await readJsonBody(read, LIMITS);
    expect(leavesBodyUnread(read)).toBe(false);
  });

  it("comes with its text, in which large numbers are whole", async () => {
    const text = '{"a": 9007199254740993}';
    expect((await readJsonBody(request(text), LIMITS)).text).toBe(text);
  });

  it.each([1_000, 2_000_000])(
    "of up to %d bytes is rewritten before it is parsed, and returned and judged as it came",
    async (maxBytes) => {
      const fill = " ".repeat(maxBytes - 500);
      const rewrite = (text: string) => text.replace("1", '"one"');
      const limits = { maxBytes, maxDepth: 4, rewrite };
      const text = `{"a": 1}${fill}`;
      expect(await readJsonBody(request(text), limits)).toEqual({ body: { a: "one" }, text });
      await expect(readJsonBody(request(`{"a": 1 x}${fill}`), limits)).rejects.toMatchObject({
        message: expect.stringContaining("line 1, column 9"),
      });
    },
  );

  it("is refused in words of its own when it is empty, of whatever length it was said to be", async () => {
    const empty = { code: "invalid_json", message: "The body is empty; send a JSON object." };
    await expect(readJsonBody(request(""), LIMITS)).rejects.toMatchObject(empty);
    await expect(readJsonBody(chunkedRequest([]), LIMITS)).rejects.toMatchObject(empty);
  });

  it("is read as it is", async () => {
    const value = { text: "Grüße 世界 👋", numbers: [1, 2.5, null], nested: { on: true } };
    expect(await readParsed(request(JSON.stringify(value)), LIMITS)).toEqual(value);
  });

  it("is read in chunks of any size, cut within characters too", async () => {
    const chunks = Array.from(bytes('{"a":"世界"}'), (byte) => Uint8Array.of(byte));
    expect(await readParsed(chunkedRequest(chunks), LIMITS)).toEqual({ a: "世界" });
  });

  it.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
    "application/json;",
  ])("may be announced as %s", async (type) => {
    expect(await readParsed(request("{}", { "content-type": type }), LIMITS)).toEqual({});
  });

  it.each([
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "application/json; charset=iso-8859-1",
    "application/jsonx",
    "multipart/form-data; boundary=x",
    "",
  ])("announced as %j is 415 and names the header", async (type) => {
    await expect(readParsed(request("{}", { "content-type": type }), LIMITS)).rejects.toMatchObject(
      {
        status: 415,
        code: "unsupported_media_type",
        param: "Content-Type",
      },
    );
  });

  it("that is compressed is 415 and names the header", async () => {
    for (const encoding of ["gzip", "br", "identity, gzip"]) {
      await expect(
        readParsed(request("{}", { "content-encoding": encoding }), LIMITS),
      ).rejects.toMatchObject({ status: 415, param: "Content-Encoding" });
    }
    expect(await readParsed(request("{}", { "content-encoding": "identity" }), LIMITS)).toEqual({});
  });

  it("may be as long as the limit and no byte longer, announced or not", async () => {
    const longest = JSON.stringify("x".repeat(LIMITS.maxBytes - 2));
    const tooLong = JSON.stringify("x".repeat(LIMITS.maxBytes - 1));
    const refusal = { status: 413, code: "request_too_large" };
    expect(await readParsed(request(longest), LIMITS)).toHaveLength(LIMITS.maxBytes - 2);
    expect(await readParsed(chunkedRequest([bytes(longest)]), LIMITS)).toBeTypeOf("string");
    await expect(readParsed(request(tooLong), LIMITS)).rejects.toMatchObject(refusal);
    await expect(
      readParsed(chunkedRequest([bytes(tooLong.slice(0, 900)), bytes(tooLong.slice(900))]), LIMITS),
    ).rejects.toMatchObject(refusal);
  });

  it("counts bytes, not characters", async () => {
    const body = JSON.stringify("世".repeat(400));
    await expect(readParsed(request(body), LIMITS)).rejects.toMatchObject({ status: 413 });
    await expect(readParsed(chunkedRequest([bytes(body)]), LIMITS)).rejects.toMatchObject({
      status: 413,
    });
  });

  it("that is too long is let go of as soon as that is known", async () => {
    let isLetGo = false;
    const endless = Array.from({ length: 1_000 }, () => bytes("x".repeat(300)));
    const reading = readParsed(
      chunkedRequest(endless, () => {
        isLetGo = true;
      }),
      LIMITS,
    );
    await expect(reading).rejects.toMatchObject({ status: 413 });
    expect(isLetGo).toBe(true);
  });

  it.each(["{", "{'a':1}", '{"a":1,}', "undefined", "NaN", '{"a":"\u0001"}', "{}{}"])(
    "that does not parse is 400 invalid_json: %j",
    async (text) => {
      await expect(readParsed(request(text), LIMITS)).rejects.toMatchObject({
        status: 400,
        code: "invalid_json",
        message: expect.stringMatching(/line 1, column \d+\.$|it ends before its value does\.$/),
      });
    },
  );

  it.each([
    ["a lone continuation byte", [0x22, 0x80, 0x22]],
    ["a cut character", [0x22, 0xe4, 0xb8, 0x22]],
    ["an encoded surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["Latin-1", [0x22, 0xfc, 0x22]],
    ["UTF-16", [0xff, 0xfe, 0x22, 0x00, 0x22, 0x00]],
  ])("with %s is 400 and told not to be UTF-8", async (_, given) => {
    await expect(readParsed(request(Uint8Array.from(given)), LIMITS)).rejects.toMatchObject({
      code: "invalid_json",
      message: expect.stringContaining("UTF-8"),
    });
  });

  it("may nest as deep as the limit and no deeper", async () => {
    expect(await readParsed(request("[[[[]]]]"), LIMITS)).toEqual([[[[]]]]);
    await expect(readParsed(request("[[[[[]]]]]"), LIMITS)).rejects.toMatchObject({
      code: "invalid_json",
      message: expect.stringContaining("4 levels"),
    });
  });

  it("makes plain data of dangerous names", async () => {
    const value = await readParsed(request('{"__proto__":{"isAdmin":true}}'), LIMITS);
    expect(Object.keys(value as object)).toEqual(["__proto__"]);
    expect((value as { isAdmin?: boolean }).isAdmin).toBeUndefined();
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  it("takes a body that breaks off for the client's fault", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    await expect(readParsed(new Request("http://gateway/", init), LIMITS)).rejects.toMatchObject({
      code: "invalid_json",
    });
  });
});

describe("the memory for a body", () => {
  const chunks = [bytes("[1,"), bytes("2]")];
  const announced = () => {
    const request = chunkedRequest(chunks);
    request.headers.set("content-length", "20000");
    return request;
  };
  const large = { maxBytes: 100_000 };

  it("is held from its announcement on", async () => {
    const held: number[] = [];
    await readJsonBytes(announced(), { ...large, hold: (count) => held.push(count) });
    expect(held).toEqual([20_000, 3, 5]);
  });

  it("of a sender who is not known is held as it arrives", async () => {
    const held: number[] = [];
    const limits = { hold: (count: number) => held.push(count), holdsArrived: true } as const;
    await readJsonBytes(announced(), { ...large, ...limits });
    await readJsonBytes(request("[1]"), { ...large, ...limits });
    expect(held).toEqual([3, 5, 3]);
  });

  it("is none when only its faults matter", async () => {
    const limits = { maxBytes: 5, isDropped: true } as const;
    expect(await readJsonBytes(chunkedRequest(chunks), limits)).toHaveLength(0);
    expect(await readJsonBytes(request("[1]"), limits)).toHaveLength(0);
    const long = chunkedRequest([...chunks, bytes(" ")]);
    await expect(readJsonBytes(long, limits)).rejects.toMatchObject({ code: "request_too_large" });
  });
});
