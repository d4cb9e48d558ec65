import { expect } from "vitest";
import type { Answer, Question } from "../question.ts";
import { type Cell, lastBody, type Note, type Scenario, TIME, user, WEATHER } from "../scenario.ts";

const PICTURE = {
  mediaType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
};
const CALLS = [
  { name: "get_weather", arguments: { city: 'São "Paulo" \\ 👋', days: 3 } },
  { name: "get_time", arguments: { zone: "UTC" } },
  { name: "get_weather", arguments: { city: "Ōsaka" } },
];

function question(cell: Cell, model = cell.backend.model): Question {
  return { model, turns: [user(cell, "What of the weather?")], tools: [WEATHER, TIME] };
}

/** Asks for three calls at once, in fragments that take turns where the vendor can send them so. */
async function callTools(cell: Cell, asked: Question, reasoning?: string): Promise<Answer> {
  cell.script({
    toolCalls: CALLS,
    argumentCharacters: 7,
    interleaveToolCalls: true,
    ...(reasoning !== undefined && { reasoning }),
  });
  const answer = await cell.ask(asked);
  expect(answer.end).toBe("tool-calls");
  expect(answer.calls.map(({ name }) => name)).toEqual(CALLS.map(({ name }) => name));
  expect(answer.calls.map((call) => JSON.parse(call.arguments))).toEqual(
    CALLS.map((call) => call.arguments),
  );
  expect(new Set(answer.calls.map(({ id }) => id)).size).toBe(3);
  return answer;
}

async function parallelTools(cell: Cell): Promise<Note> {
  await callTools(cell, question(cell));
  expect(lastBody(cell)).toContain("Tells the weather of a city.");
  return "works";
}

async function plainKey(cell: Cell): Promise<Note> {
  const asked = question(cell);
  if (cell.backend.takesToolsOf === "every key") {
    cell.script({ toolCalls: CALLS });
    const answer = await cell.ask(asked, { key: cell.keys.plain });
    expect(answer.calls).toHaveLength(3);
    return "works";
  }
  cell.script({ text: "I have no tools." });
  const answer = await cell.ask(asked, { key: cell.keys.plain });
  expect(answer).toMatchObject({ text: "I have no tools.", calls: [], end: "stop" });
  expect(lastBody(cell)).not.toContain("get_weather");
  return "ignored";
}

function withResults(asked: Question, answer: Answer, image: boolean): Question {
  const results = answer.calls.map(({ id }, index) => ({
    callId: id,
    text: `result ${index}`,
    ...(image && index === 1 && { image: PICTURE }),
  }));
  return {
    ...asked,
    turns: [...asked.turns, { who: "assistant", answer }, { who: "tools", results }],
  };
}

async function toolResultWithImage(cell: Cell): Promise<Note> {
  const asked = question(cell);
  const answer = await callTools(cell, asked);
  cell.script({ text: "It is sunny." });
  const last = await cell.ask(withResults(asked, answer, true));
  expect(last).toMatchObject({ text: "It is sunny.", end: "stop" });
  const body = lastBody(cell);
  expect(body).toContain(PICTURE.data);
  for (const index of CALLS.keys()) expect(body).toContain(`result ${index}`);
  return "works";
}

async function reasoning(cell: Cell): Promise<Note> {
  const thought = "The user greets; I greet back — 简单.";
  cell.script({ reasoning: thought, text: "Hello." });
  const model = cell.backend.thinker;
  const answer = await cell.ask({ model, turns: [user(cell, "Hi.")], effort: "high" });
  expect(answer).toMatchObject({ text: "Hello.", end: "stop" });
  expect(answer.reasoning).toBe(cell.backend.showsReasoning ? thought : "");
  return cell.backend.showsReasoning ? "works" : "ignored";
}

/** A vendor's seal must be back in its second call, where the simulator checks that it is whole and its own. */
async function signedReasoning(cell: Cell): Promise<Note> {
  const asked: Question = { ...question(cell, cell.backend.thinker), effort: "high" };
  const answer = await callTools(cell, asked, "Two cities and a zone.");
  cell.script({ reasoning: "Now I know.", text: "Sunny, and noon." });
  const last = await cell.ask(withResults(asked, answer, false));
  expect(last).toMatchObject({ text: "Sunny, and noon.", end: "stop" });
  const { seal } = cell.backend;
  if (seal !== undefined) expect(lastBody(cell)).toMatch(seal);
  return "works";
}

export const TOOL_SCENARIOS: readonly Scenario[] = [
  { name: "parallel tools", run: parallelTools },
  { name: "tools with a plain key", run: plainKey },
  { name: "tool result with image", run: toolResultWithImage },
  { name: "reasoning", run: reasoning },
  { name: "signed reasoning replayed", run: signedReasoning },
];
