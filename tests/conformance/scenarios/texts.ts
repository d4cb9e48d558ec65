import { expect } from "vitest";
import { type Cell, lastBody, marked, type Note, type Scenario, user } from "../scenario.ts";

const TEXT = 'Grüße 世界 👩‍👩‍👧 "quoted" \\ and\nmore.';
const PICTURE = {
  mediaType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
};

async function text(cell: Cell): Promise<Note> {
  cell.script({ text: TEXT });
  const { model } = cell.backend;
  const answer = await cell.ask({ model, turns: [user(cell, "Greet me.")] });
  expect(answer).toMatchObject({ text: TEXT, model, calls: [], end: "stop", reasoning: "" });
  const told = cell.received().at(-1)?.told;
  expect(answer.usage).toMatchObject({ input: told?.inputTokens, output: told?.outputTokens });
  return "works";
}

async function system(cell: Cell): Promise<Note> {
  const { model } = cell.backend;
  const rule = "Answer in one word, in the voice of a sailor.";
  const answer = await cell.ask({ model, system: rule, turns: [user(cell, "Say: ahoy")] });
  expect(answer).toMatchObject({ text: marked(cell, "ahoy"), end: "stop" });
  expect(lastBody(cell)).toContain(rule);
  return "works";
}

async function multiTurn(cell: Cell): Promise<Note> {
  const { model } = cell.backend;
  const first = user(cell, "Say: the number is 4711");
  const answer = await cell.ask({ model, turns: [first] });
  const turns = [first, { who: "assistant", answer } as const, user(cell, "Say: 4712")];
  expect(await cell.ask({ model, turns })).toMatchObject({
    text: marked(cell, "4712"),
    end: "stop",
  });
  expect(lastBody(cell)).toContain("the number is 4711");
  return "works";
}

async function image(cell: Cell): Promise<Note> {
  const { model } = cell.backend;
  const asked = { ...user(cell, "Say: a picture"), image: PICTURE };
  expect(await cell.ask({ model, turns: [asked] })).toMatchObject({
    text: marked(cell, "a picture"),
  });
  expect(lastBody(cell)).toContain(PICTURE.data);
  return "works";
}

async function empty(cell: Cell): Promise<Note> {
  cell.script({ text: "" });
  const { model } = cell.backend;
  const answer = await cell.ask({ model, turns: [user(cell, "Say nothing.")] });
  expect(answer).toMatchObject({ text: "", calls: [], end: "stop" });
  return "works";
}

async function stop(cell: Cell): Promise<Note> {
  const { model, appliesStop } = cell.backend;
  const whole = marked(cell, "one two HALT three");
  const question = { model, turns: [user(cell, "Say: one two HALT three")], stop: ["HALT"] };
  const answer = await cell.ask(question);
  if (cell.family.name === "responses") {
    expect(answer.text).toBe(whole);
    return "no such parameter";
  }
  if (!appliesStop) {
    expect(answer).toMatchObject({ text: whole, end: "stop" });
    return "ignored";
  }
  expect(answer.text.trim()).toBe("one two");
  expect(["stop", "stop-sequence"]).toContain(answer.end);
  return "works";
}

async function length(cell: Cell): Promise<Note> {
  const { model, appliesMaxTokens } = cell.backend;
  const counted = "one two three four five six seven eight nine ten";
  const words = marked(cell, counted);
  const question = { model, turns: [user(cell, `Say: ${counted}`)], maxTokens: 4 };
  const answer = await cell.ask(question);
  if (!appliesMaxTokens) {
    expect(answer).toMatchObject({ text: words, end: "stop" });
    return "ignored";
  }
  expect(answer.end).toBe("length");
  expect(words.startsWith(answer.text)).toBe(true);
  expect(answer.text.length).toBeLessThan(words.length);
  return "works";
}

async function refusal(cell: Cell): Promise<Note> {
  cell.script({ text: "That I cannot help with.", finishReason: "content_filter" });
  const { model } = cell.backend;
  const answer = await cell.ask({ model, turns: [user(cell, "Do harm.")] });
  expect(answer.text).toBe("That I cannot help with.");
  // A local engine has no filter to speak of; Ollama's format has no word for one.
  expect(answer.end).toBe(cell.backend.tells.refusals ? "refusal" : "stop");
  return cell.backend.tells.refusals ? "works" : "not told";
}

async function usage(cell: Cell): Promise<Note> {
  cell.script({
    text: "Counted.",
    usage: { inputTokens: 1_000, outputTokens: 50, cachedTokens: 800, reasoningTokens: 20 },
  });
  const { thinker } = cell.backend;
  const { usage: shown } = await cell.ask({ model: thinker, turns: [user(cell, "Count.")] });
  const { cached, reasoning } = cell.backend.tells;
  expect(shown).toEqual({
    input: 1_000,
    output: 50,
    cached: cached ? 800 : 0,
    reasoning: reasoning ? 20 : 0,
  });
  return cached ? "works" : "not told";
}

export const TEXT_SCENARIOS: readonly Scenario[] = [
  { name: "text", run: text },
  { name: "system", run: system },
  { name: "several turns", run: multiTurn },
  { name: "image", run: image },
  { name: "stop strings", run: stop },
  { name: "length", run: length },
  { name: "refusal", run: refusal },
  { name: "usage with cache", run: usage },
  { name: "empty answer", run: empty },
];
