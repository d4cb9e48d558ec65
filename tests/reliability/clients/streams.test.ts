import { afterAll, beforeAll, describe, expect } from "vitest";
import type { Moment, Script } from "../../../simulator/script.ts";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { readChatStream } from "../../support/clients/chat-stream.ts";
import {
  CLIENT_FAMILIES,
  type ClientFamily,
  isErrorOf,
} from "../../support/clients/client-family.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  CHAT_CALLS,
  ENGINES,
  type Engine,
  expectCleanOutput,
  type Stage,
  startStages,
} from "../../support/stages/engine-stage.ts";
import type { StoredUsage } from "../../support/stages/usage/stored-usage.ts";

const STREAMS = trialSize(10, 30);
/** Streams whose bytes arrive one by one, each in a segment of its own. */
const SLOW_STREAMS = trialSize(3, 8);
const TEXT = "One two three four five six seven eight nine ten.";
/** With the fragments below: the role (vLLM alone), ten pieces, the ending. */
const PIECES = { fragmentCharacters: 5 };
const GARBAGE = {
  "truncated JSON": '{"choices":[{"delta":{"content":"zzz-garbage',
  HTML: "<html><body>zzz-garbage 502 Bad Gateway</body></html>",
  null: "null",
  "an array": '["zzz-garbage"]',
};
const CUTS: readonly (readonly [string, number | "terminal"])[] = [
  ["0", 0],
  ["1", 1],
  ["5", 5],
  ["the last but one", "terminal"],
];
const CASES = ["s01", "s02", "s03", "s04", "s09", "s11", "s12"];

const table = createCaseTable({
  S01: `${STREAMS} streams a family and engine`,
  S02: `${STREAMS} streams a family and engine`,
  S03: "each cut, each family and engine",
  S04: "each cut, each family and engine",
  S09: "each kind of garbage, each family and engine",
  S11: "each family and engine",
  S12: "each family and engine",
});
const starting = startStages((engine) => ({
  engine,
  models: CLIENT_FAMILIES.flatMap(({ name }) => CASES.map((id) => `${id}-${name}`)),
}));
noteLaterRoutes(table, ["S01", "S02", "S03", "S04", "S09", "S11", "S12"]);

/** What the usage rows of each model must be, in no order. */
type ExpectedRows = Map<string, Expected[]>;

for (const engine of ENGINES) {
  describe(`streams of ${engine}`, () => {
    let stage: Stage;
    const expected: ExpectedRows = new Map();

    beforeAll(async () => {
      stage = await starting[engine];
    });
    afterAll(() => stage.finish());

    for (const family of CLIENT_FAMILIES) {
      casesOf({ engine, family, expected, stageOf: () => stage });
    }
    rowsOf(engine, expected, () => stage);
  });
}

interface Place {
  readonly engine: Engine;
  readonly family: ClientFamily;
  readonly expected: ExpectedRows;
  readonly stageOf: () => Stage;
}

function casesOf({ engine, family, expected, stageOf }: Place): void {
  const shows = (id: string, where: string, sentence: string, test: () => Promise<void>) =>
    table.shows(id, `${family.name}, ${engine}${where}`, sentence, test);
  const named = (id: string) => `${id}-${family.name}`;
  const expectRow = (id: string, row: Expected) =>
    expected.set(named(id), [...(expected.get(named(id)) ?? []), row]);
  const post = (body: object) => callGateway(stageOf().gateway.port, { path: family.path, body });

  /** One call answered by one script. */
  const call = (id: string, script: Omit<Script, "match">, body: object = { stream: true }) => {
    stageOf().simulator.script({
      match: { model: modelOf(engine, named(id)), path: CHAT_CALLS[engine] },
      ...script,
    });
    return post(family.body(named(id), { ...body }));
  };
  /** Refused by the engine's failure, before a stream began. */
  const expectRefusal = (response: RawResponse) =>
    family.expectError(response, 502, "upstream_error");
  const expectBroken = (response: RawResponse) => expectFailedStream(family, response);

  shows("S01", "", `${STREAMS} streams cut inside characters come out whole`, async () => {
    const streams = Array.from({ length: STREAMS }, async (_, seed) => {
      const text = mixedText(seed);
      const isSlow = seed < SLOW_STREAMS;
      const segments = { bytes: isSlow ? 1 : 1 + (seed % 5), delayMs: isSlow ? 1 : 0 };
      const stream = seed % 3 !== 2;
      const mark = `${family.name} try ${seed}.`;
      const body = family.body(named("s01"), { stream }, mark);
      stageOf().simulator.script({ match: { body: mark }, text, segments, fragmentCharacters: 15 });
      const response = await post(body);
      const answer = stream ? family.readStream(response).text : family.textOf(response.json());
      expect(answer).not.toContain("\uFFFD");
      expect(answer).toBe(text);
      expectRow("s01", { success: true });
    });
    await Promise.all(streams);
  });

  for (const [name, stream] of Object.entries(lineEndings(engine))) {
    shows("S02", `: ${name}`, "reads as the reference", async () => {
      const headers = { "content-type": contentTypes[engine] };
      for (const segments of [undefined, { bytes: 1, delayMs: 0 }, { bytes: 7, delayMs: 1 }]) {
        const respond = { status: 200, headers, body: stream };
        const response = await call("s02", { respond, ...(segments && { segments }) });
        expect(family.readStream(response)).toEqual({
          text: "é😀 line\nend",
          isFinished: true,
          error: undefined,
          keepalives: 0,
        });
        expectRow("s02", { success: true, outputTokens: 4 });
      }
    });
  }

  for (const [name, at] of CUTS) {
    // What was said before the break has time to arrive on its own.
    shows("S03", `: RST after ${name}`, "tells the failure and never ends bare", async () => {
      const script: Script = { text: TEXT, ...PIECES, cut: { at, how: "reset" }, ...pause(at) };
      const response = await call("s03", script);
      if (at === 0) expectRefusal(response);
      else expectBroken(response);
      expectRow("s03", { success: false, outcome: "error" });
    });
  }
  shows("S03", ": RST, not streaming", "is a 502", async () => {
    for (const at of [0, 1] as const) {
      const response = await call("s03", { text: TEXT, cut: { at, how: "reset" } }, {});
      expectRefusal(response);
      expectRow("s03", { success: false, outcome: "error" });
    }
  });

  for (const how of ["fin", "end"] as const) {
    for (const at of [0, 3, 9]) {
      shows("S04", `: ${how} after ${at}`, "is a failure, never a silent end", async () => {
        const response = await call("s04", {
          text: TEXT,
          ...PIECES,
          cut: { at, how },
          ...pause(at),
        });
        if (at === 0) expectRefusal(response);
        else expectBroken(response);
        expectRow("s04", { success: false, outcome: "error" });
      });
    }
  }

  for (const [name, line] of Object.entries(GARBAGE)) {
    shows("S09", `: ${name}`, "ends the stream with an error and is not passed on", async () => {
      const response = await call("s09", { text: TEXT, ...PIECES, inject: { at: 4, line } });
      expectBroken(response);
      expect(response.text).not.toContain("zzz-garbage");
      const first = await call("s09", { text: TEXT, inject: { at: 0, line } });
      expectRefusal(first);
      const whole = await call("s09", { text: TEXT, inject: { at: 0, line } }, {});
      expectRefusal(whole);
      for (let row = 0; row < 3; row += 1) expectRow("s09", { success: false, outcome: "error" });
    });
  }

  shows("S11", "", "is an HTTP error when the first event is one", async () => {
    const response = await call("s11", { text: TEXT, error: { at: 0 } });
    expect(response.status).toBeGreaterThanOrEqual(500);
    family.expectError(response, response.status);
    expectRow("s11", { success: false, outcome: "error" });
    const later = await call("s11", { text: TEXT, ...PIECES, error: { at: 5 } });
    expectBroken(later);
    expectRow("s11", { success: false, outcome: "error" });
  });

  shows("S12", "", "estimates the tokens an engine never tells", async () => {
    const streamed = await call("s12", { text: TEXT, usage: null });
    expect(family.readStream(streamed)).toMatchObject({ text: TEXT, isFinished: true });
    const options = { stream: true, stream_options: { include_usage: true } };
    const shown = await call("s12", { text: TEXT, usage: null }, options);
    const usage = family.name === "chat" ? readChatStream(shown).usage : undefined;
    if (usage !== undefined) expectWholeNumbers(usage.prompt_tokens, usage.completion_tokens);
    const whole = await call("s12", { text: TEXT, usage: null }, {});
    expect(whole.status).toBe(200);
    for (let row = 0; row < 3; row += 1) expectRow("s12", { success: true, estimated: true });
  });
}

function rowsOf(engine: Engine, expected: ExpectedRows, stageOf: () => Stage): void {
  const sentence = "has written exactly one true usage row for each of these calls";
  table.shows("I4", `all families, ${engine}`, sentence, async () => {
    const rows = await stageOf().finish();
    expectCleanOutput(stageOf().gateway);
    for (const [name, wanted] of expected) {
      const found = rows.filter(({ model }) => model === name);
      expect([name, found.length]).toEqual([name, wanted.length]);
      for (const row of found) expectWholeNumbers(row.inputTokens, row.outputTokens, row.latencyMs);
      expect([name, found.map(pick).sort()]).toEqual([name, wanted.map(complete).map(pick).sort()]);
    }
    for (const { name } of CLIENT_FAMILIES) {
      const cut = rows.filter(({ model, success }) => model === `s03-${name}` && !success);
      expect(cut.some(({ outputTokens, channel }) => outputTokens > 0 && channel === name)).toBe(
        true,
      );
    }
  });
}

function pause(at: Moment): Pick<Script, "stall"> {
  return { stall: { at, forMs: 60 } };
}

type Expected = Pick<StoredUsage, "success"> &
  Partial<Pick<StoredUsage, "outcome" | "estimated" | "outputTokens">>;

function complete(row: Expected): Pick<StoredUsage, "success" | "outcome" | "estimated"> {
  return { outcome: row.success ? "ok" : "error", estimated: !row.success, ...row };
}

function pick({
  success,
  outcome,
  estimated,
}: Pick<StoredUsage, "success" | "outcome" | "estimated">) {
  return `${success} ${outcome} ${estimated ? "estimated" : "measured"}`;
}

function modelOf(engine: Engine, name: string): string {
  return engine === "ollama" ? `${name}:latest` : name;
}

function expectWholeNumbers(...values: readonly number[]): void {
  for (const value of values) {
    expect(Number.isInteger(value)).toBe(true);
    expect(value).toBeGreaterThanOrEqual(0);
  }
}

/** A stream that broke off: some of the text, then the error, and no proper end. */
function expectFailedStream(family: ClientFamily, response: RawResponse): void {
  // When the break is read together with the first events, nothing was said yet and the status is still free.
  if (response.status !== 200) {
    family.expectError(response, 502, "upstream_error");
    return;
  }
  const { text, error, isFinished } = family.readStream(response);
  expect(TEXT.startsWith(text)).toBe(true);
  expect(isErrorOf(family, error, "upstream_error")).toBe(true);
  expect(isFinished).toBe(false);
}

/** Characters of one to four bytes, joined emoji, combining marks, right-to-left text; the same for the same seed. */
function mixedText(seed: number): string {
  const parts = [
    "a",
    "é",
    "ß",
    "漢字",
    "ไทย",
    "한국어",
    "😀",
    "👩‍👩‍👧‍👦",
    "🏳️‍🌈",
    "e\u0301",
    "שלום",
    "𝒳",
    "\u200d",
    "\n",
    '"',
    "\\",
  ];
  let state = seed + 1;
  let text = "";
  for (let length = 0; length < 24; length += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += parts[Math.floor(state / 65_536) % parts.length];
  }
  return text;
}

const contentTypes: Readonly<Record<Engine, string>> = {
  vllm: "text/event-stream; charset=utf-8",
  ollama: "application/x-ndjson",
};

/** The same answer in every form that the format allows. */
function lineEndings(engine: Engine): Readonly<Record<string, string>> {
  if (engine === "ollama") {
    const line = (content: string, rest: object = { done: false }) =>
      JSON.stringify({ model: "s02", message: { role: "assistant", content }, ...rest });
    const end = { done: true, done_reason: "stop", prompt_eval_count: 3, eval_count: 4 };
    const lines = [line("é😀 "), line("line\n"), line("end"), line("", end)];
    return {
      LF: `${lines.join("\n")}\n`,
      CRLF: `${lines.join("\r\n")}\r\n`,
      "mixed, empty lines": `\n${lines[0]}\r\n\r\n${lines[1]}\n\n\n${lines[2]}\r\n${lines[3]}\n\n`,
      "no end of the last line": lines.join("\n"),
    };
  }
  const chunk = (delta: object, rest: object = { finish_reason: null }) =>
    JSON.stringify({ id: "c", choices: [{ index: 0, delta, ...rest }] });
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const data = [
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "é😀 " }),
    chunk({ content: "line\n" }),
    chunk({ content: "end" }),
    chunk({}, { finish_reason: "stop" }),
    JSON.stringify({ id: "c", choices: [], usage }),
    "[DONE]",
  ];
  const events = (end: string, more = "") =>
    data.map((one) => `data: ${one}${end}${more}${end}`).join("");
  return {
    LF: events("\n"),
    CRLF: events("\r\n"),
    CR: events("\r"),
    mixed: data
      .map((one, index) => `data: ${one}${["\n\n", "\r\n\r\n", "\r\r", "\r\n\n"][index % 4]}`)
      .join(""),
    "byte order mark, comments": `\uFEFF: hello\n\n${events("\n", ": still here\n")}`,
    "no space after the colon": data.map((one) => `data:${one}\n\n`).join(""),
    "event, id and retry fields": data
      .map((one, id) => `event: message\nid: ${id}\nretry: 9\ndata: ${one}\n\n`)
      .join(""),
    "several data lines": data
      .map((one) => `data: ${one.replace('"choices"', '\ndata: "choices"')}\n\n`)
      .join(""),
    "no blank line at the end": events("\n").trimEnd(),
  };
}
