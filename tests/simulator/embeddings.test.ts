import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { embed } from "../../simulator/content/embedding.ts";
import type { Script } from "../../simulator/script.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";

function cosine(one: string, other: string, dimensions = 256): number {
  const [left, right] = [embed(one, dimensions), embed(other, dimensions)];
  return left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
}

/** Texts without a common subject. */
const SUBJECTS = [
  "The pump loses pressure when the gasket of the inlet valve is worn. Replace the gasket every year.",
  "Employees get thirty days of paid vacation. Requests go to the manager by the end of March.",
  "Die Rechnung ist innerhalb von vierzehn Tagen ohne Abzug zu zahlen, danach fallen Zinsen an.",
  "Photosynthesis turns carbon dioxide and water into sugar and oxygen inside the chloroplasts of plants.",
  "The striker scored twice in the second half, and the home crowd sang until midnight.",
  "東京の天気は明日も晴れで、最高気温は二十度になるでしょう。",
  "To reset the router, hold the button on its back for ten seconds and wait for the green light.",
  "Bake the sourdough at two hundred forty degrees with steam, then lower the oven for a crisp crust.",
];

describe("the simulator's embeddings", () => {
  it.each([256, 1_024])(
    "are of length 1 and the same each time, of %i dimensions",
    (dimensions) => {
      for (const text of [...SUBJECTS, "", " ", "?!", "the", "😀", "a\u0000b"]) {
        expect(Math.abs(cosine(text, text, dimensions) - 1)).toBeLessThan(1e-5);
        expect(embed(text, dimensions)).toEqual(embed(text, dimensions));
      }
    },
  );

  it.each([256, 1_024])(
    "keep texts of different subjects well below 0.35 in %i dimensions",
    (dimensions) => {
      for (const one of SUBJECTS) {
        for (const other of SUBJECTS) {
          if (one !== other) expect(cosine(one, other, dimensions)).toBeLessThan(0.25);
        }
      }
    },
  );

  it.each([
    ["half of the words", "Worn gasket: the pump is losing pressure", SUBJECTS[0]],
    ["half of the words", "How many days of paid vacation do employees get?", SUBJECTS[1]],
    ["other forms of the words", "paying invoices late", "the invoice was paid lately"],
    ["the subject in German", "Wann ist die Rechnung zu zahlen?", SUBJECTS[2]],
    ["bigrams", "東京の天気は?", SUBJECTS[5]],
    ["a code", "What does E-4711 mean?", "E-4711: overheated motor, let it cool"],
    ["words in other letters", "RESET ROUTER BUTTON", SUBJECTS[6]],
  ])("bring texts with %s in common above 0.4: %s", (_what, one, other = "") => {
    expect(cosine(one, other)).toBeGreaterThan(0.4);
    expect(cosine(one, other, 1_024)).toBeGreaterThan(0.4);
  });

  it("ignore function words", () => {
    expect(cosine("What is in the box?", "The cat is in the garden, what is it?")).toBeLessThan(
      0.2,
    );
  });
});

const FORMATS = [
  { format: "OpenAI", path: "/v1/embeddings" },
  { format: "Ollama", path: "/api/embed" },
];

describe.each(FORMATS)("the simulator's embeddings in $format's format", ({ path }) => {
  let simulator: TestSimulator;
  beforeAll(async () => {
    simulator = await startSimulator();
  });
  afterEach(() => simulator.reset());
  afterAll(() => simulator.stop());

  async function ask(model: string, signal?: AbortSignal) {
    const response = await fetch(simulator.url + path, {
      method: "POST",
      body: JSON.stringify({ model, input: "one text" }),
      signal: signal ?? null,
    });
    const answer = (await response.json()) as {
      data?: { embedding: number[] }[];
      embeddings?: number[][];
    };
    const vector = answer.data?.[0]?.embedding ?? answer.embeddings?.[0];
    return { status: response.status, length: vector?.length };
  }

  const always = (script: Script) =>
    simulator.script({ match: { path, model: "sim-embed" }, times: "always", ...script });

  it("have the dimensions of their model", async () => {
    expect(await ask("sim-embed")).toEqual({ status: 200, length: 256 });
    expect(await ask("sim-embed-large")).toEqual({ status: 200, length: 1_024 });
  });

  it("have the dimensions of a script, for its model", async () => {
    always({ dimensions: 64 });
    expect((await ask("sim-embed")).length).toBe(64);
    expect((await ask("sim-embed")).length).toBe(64);
    expect((await ask("sim-embed-large")).length).toBe(1_024);
  });

  it("fail and stall by a script, for its model", async () => {
    simulator.script({
      match: { path, model: "sim-embed" },
      times: 2,
      respond: { status: 503, body: {} },
    });
    expect((await ask("sim-embed")).status).toBe(503);
    expect((await ask("sim-embed-large")).status).toBe(200);
    expect((await ask("sim-embed")).status).toBe(503);
    always({ stall: { at: "headers" } });
    const waiting = new AbortController();
    const asked = ask("sim-embed", waiting.signal);
    asked.catch(() => undefined);
    expect((await ask("sim-embed-large")).status).toBe(200);
    waiting.abort();
    await expect(asked).rejects.toThrow();
  });
});
