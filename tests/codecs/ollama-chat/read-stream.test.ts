import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { trialSize } from "../../support/faults/trial-size.ts";
import { MAX_EVENT_BYTES, plain, readPieces, readText, textOf } from "./read-answers.ts";

const OWN = "tests/fixtures/ollama-chat";
const SHARED = "../shared/fixtures/ollama";
const SHARED_ENDS: Readonly<Record<string, string>> = {
  "synthetic-chat-thinking.ndjson": "finish stop 26+12: 4",
  "synthetic-chat-tool.ndjson": "finish tool-calls 26+12: ",
  "synthetic-error-midstream.ndjson":
    "error an error was encountered while running the model: CUDA error: Par",
};

const encoder = new TextEncoder();

function line(message: object, more: object = {}): string {
  const created_at = "2026-11-20T10:00:00.5Z";
  return `${JSON.stringify({ model: "m", created_at, message, done: false, ...more })}\n`;
}

function done(more: object = {}): string {
  return line({ role: "assistant", content: "" }, { done: true, done_reason: "stop", ...more });
}

function summary(text: string): string {
  const events = readText(text);
  const end = events.at(-1);
  if (end?.type === "error") return `error ${end.error.message}: ${textOf(events)}`;
  if (end?.type !== "finish") return "no end";
  return `finish ${end.reason} ${end.usage?.inputTokens}+${end.usage?.outputTokens}: ${textOf(events)}`;
}

/** The same bytes in every two-piece cut, and one byte at a time. */
function expectSameWhereverCut(text: string): void {
  const bytes = encoder.encode(text);
  const whole = JSON.stringify(plain(readPieces([bytes])));
  for (let cut = 1; cut < bytes.length; cut++) {
    const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
    if (JSON.stringify(plain(readPieces(pieces))) !== whole) expect.fail(`cut at byte ${cut}`);
  }
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
  expect(JSON.stringify(plain(readPieces(single)))).toBe(whole);
}

function itReadsTheSameHoweverItComes(path: string): void {
  const text = readFileSync(path, "utf8");

  it("reads the same with LF, CRLF, CR, empty lines and without the last line end", () => {
    const whole = plain(readText(text));
    expect(plain(readText(text.replaceAll("\n", "\r\n")))).toEqual(whole);
    expect(plain(readText(text.replaceAll("\n", "\r")))).toEqual(whole);
    expect(plain(readText(`\uFEFF${text.replaceAll("\n", "\n \r\n\n")}`))).toEqual(whole);
    expect(plain(readText(text.trimEnd()))).toEqual(whole);
  });

  it("reads the same cut at every byte, with each line end", () => {
    expectSameWhereverCut(text);
    expectSameWhereverCut(text.replaceAll("\n", "\r\n"));
    expectSameWhereverCut(text.replaceAll("\n", "\r"));
  });
}

describe.each(readdirSync(OWN).filter((name) => name.endsWith(".ndjson")))("%s", (name) => {
  it("gives the expected events", () => {
    const expected = readFileSync(`${OWN}/${name.replace(".ndjson", ".events.json")}`, "utf8");
    expect(plain(readText(readFileSync(`${OWN}/${name}`, "utf8")))).toEqual(JSON.parse(expected));
  });

  itReadsTheSameHoweverItComes(`${OWN}/${name}`);
});

if (existsSync(SHARED)) {
  describe.each(Object.entries(SHARED_ENDS))("%s", (name, end) => {
    it("is read whole", () => {
      expect(summary(readFileSync(`${SHARED}/${name}`, "utf8"))).toBe(end);
    });

    itReadsTheSameHoweverItComes(`${SHARED}/${name}`);
  });
} else process.stdout.write(`${SHARED} is not there: its fixtures are left out\n`);

describe("UTF-8", () => {
  it("S01: survives slices of any size, a thousand seeds", () => {
    const words = [
      "🌤️",
      "👩‍👩‍👧‍👦",
      "日本語",
      "naïve",
      "🇳🇴",
      "e\u0301",
      "\u2028",
      "𝔘𝔫𝔦",
      " ",
      "\\",
      '"',
    ];
    for (let seed = 1; seed <= trialSize(200, 1_000); seed++) {
      const random = seededRandom(seed);
      const said = Array.from({ length: 12 }, () => words[random(words.length)] ?? "");
      const text = said.map((content) => line({ content })).join("") + done();
      const events = readPieces(slices(encoder.encode(text), random));
      if (textOf(events) !== said.join("")) expect.fail(`seed ${seed}`);
    }
  });
});

describe("finish", () => {
  const call = { tool_calls: [{ function: { name: "f", arguments: {} } }] };

  it.each([
    ["stop", "stop", ""],
    ["length", "length", ""],
    ["load", "stop", ""],
    ["unload", "stop", ""],
    ["", "stop", ""],
    ["stop", "tool-calls", line(call)],
    ["length", "length", line(call)],
  ])("maps done_reason %j to %s", (done_reason, reason, before) => {
    expect(readText(before + done({ done_reason })).at(-1)).toMatchObject({ reason });
  });

  it("takes a count that is left out as zero, and says nothing when both are", () => {
    expect(readText(done({ eval_count: 3 })).at(-1)).toMatchObject({
      usage: { inputTokens: 0, outputTokens: 3 },
    });
    expect(readText(done({ prompt_eval_count: 7 })).at(-1)).toMatchObject({
      usage: { inputTokens: 7, outputTokens: 0 },
    });
    expect(readText(done()).at(-1)).toMatchObject({ type: "finish", usage: undefined });
  });

  it("reads what stands on the last line, and nothing after it", () => {
    const last = line({ content: "all" }, { done: true, done_reason: "stop", eval_count: 1 });
    expect(summary(`${last}<html>${line({ content: "more" })}`)).toBe("finish stop 0+1: all");
  });
});

describe("tool calls", () => {
  it("get ids that differ between the turns of a conversation", () => {
    const call = { tool_calls: [{ function: { name: "f", arguments: {} } }] };
    const ids = ["2026-11-20T10:00:00.1Z", "2026-11-20T10:00:07.1Z"].map((created_at) => {
      const event = readText(line(call, { created_at }) + done()).find(
        (found) => found.type === "tool-call-start",
      );
      return event?.type === "tool-call-start" ? event.callId : "";
    });
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("take arguments that come as text for what they are", () => {
    const call = { tool_calls: [{ function: { name: "f", arguments: '{"a":1}' } }] };
    expect(readText(line(call) + done())).toContainEqual({
      type: "tool-call-delta",
      block: 0,
      arguments: '{"a":1}',
    });
  });

  it("come after text that was held back for a tag", () => {
    const call = { tool_calls: [{ function: { name: "f", arguments: {} } }] };
    expect(summary(line({ content: "<thi" }) + line(call) + done({ eval_count: 1 }))).toBe(
      "finish tool-calls 0+1: <thi",
    );
  });
});

describe("S09: garbage", () => {
  const html = "<!DOCTYPE html><title>502 Bad Gateway</title>\n";
  const deep = `{"message":${"[".repeat(50_000)}${"]".repeat(50_000)},"done":false}\n`;

  it.each([
    ["truncated JSON", '{"model":"m","message":{"role":"assi\n'],
    ["HTML", html],
    ["null", "null\n"],
    ["an array", "[]\n"],
    ["a string", '"data"\n'],
    ["a number", "1\n"],
    ["an object of another kind", '{"object":"chat.completion.chunk","choices":[]}\n'],
    ["an event stream", 'data: {"choices":[]}\n\n'],
    ["content of the wrong type", '{"message":{"content":7},"done":false}\n'],
    ["a call without a name", '{"message":{"tool_calls":[{"function":{}}]},"done":false}\n'],
    ["a negative count", '{"done":true,"eval_count":-1}\n'],
    ["deep nesting", deep],
  ])("%s ends the stream with one error", (_name, garbage) => {
    expect(readText(garbage + done())).toMatchObject([
      { type: "error", error: { code: "upstream_error", status: 502 } },
    ]);
    const events = readText(line({ content: "so far" }) + garbage + line({ content: "late" }));
    expect(textOf(events)).toBe("so far");
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "upstream_error" } });
    expect(JSON.stringify(plain(events))).not.toContain(garbage.trim());
  });

  it("S04: an end without the last line is an error, even when nothing came", () => {
    expect(summary("")).toMatch(/^error .*before it was complete/);
    expect(summary(line({ content: "half" }))).toMatch(/^error .*complete\.: half$/);
    expect(summary(line({ content: "half" }) + done().slice(0, 40))).toMatch(/^error .*: half$/);
  });

  it("a line over the limit is an error wherever it is cut, after the lines before it", () => {
    const text = line({ content: "short" }) + line({ content: "é".repeat(300) }) + done();
    const limit = encoder.encode(line({ content: "é".repeat(300) })).length - 2;
    for (const size of [1, 7, 400, 100_000]) {
      const bytes = encoder.encode(text);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const events = readPieces(pieces, limit);
      expect(textOf(events)).toBe("short");
      expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "upstream_error" } });
      expect(textOf(readPieces(pieces, limit + 1))).toBe(`short${"é".repeat(300)}`);
    }
  });
});

describe("errors of the engine in the stream", () => {
  it("S11: the first of all comes before any start", () => {
    expect(plain(readText('{"error":"CUDA error"}\n'))).toEqual([
      { type: "error", error: { code: "upstream_error", message: "CUDA error" } },
    ]);
  });

  it("tell a context that is too small from other faults", () => {
    const error = '{"error":"the input length exceeds the context length"}\n';
    expect(readText(error, MAX_EVENT_BYTES)).toMatchObject([
      { error: { code: "context_length_exceeded", status: 400 } },
    ]);
  });

  it.each(['{"error":{"code":500}}', '{"error":true}', '{"error":[1]}'])(
    "%s has no words and is an error all the same",
    (text) => {
      expect(summary(text)).toBe("error The engine reported an error.: ");
    },
  );
});

function seededRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function* slices(bytes: Uint8Array, random: (below: number) => number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const end = start + 1 + random(5);
    yield bytes.subarray(start, end);
    start = end;
  }
}
