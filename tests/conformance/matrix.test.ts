import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BACKENDS } from "./backends.ts";
import { chat } from "./families/chat.ts";
import { messages } from "./families/messages.ts";
import { responses } from "./families/responses.ts";
import { describeIgnoredParameters } from "./ignored-parameters.ts";
import type { Cell } from "./scenario.ts";
import { FAULT_SCENARIOS } from "./scenarios/faults.ts";
import { TEXT_SCENARIOS } from "./scenarios/texts.ts";
import { TOOL_SCENARIOS } from "./scenarios/tools.ts";
import { scrambledFetch } from "./scrambled-fetch.ts";
import { type Stage, startStage } from "./stage.ts";
import { type Result, renderTable } from "./table.ts";

const SCENARIOS = [...TEXT_SCENARIOS, ...TOOL_SCENARIOS, ...FAULT_SCENARIOS];
const FAMILIES = [chat, messages, responses];
const PAGE = "docs/conformance.md";
// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const WRITES_PAGE = process.env["CONFORMANCE_WRITE"] === "1";
const CELLS = SCENARIOS.length * FAMILIES.length * BACKENDS.length * 2;

let stage: Stage;
let seed = 1;
const results: Result[] = [];

beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

for (const backend of BACKENDS) {
  for (const family of FAMILIES) {
    describe(`${family.name} on ${backend.name}`, () => {
      for (const scenario of SCENARIOS) {
        it.each([false, true])(`${scenario.name}, streamed: %s`, async (stream) => {
          const note = await scenario.run(openCell({ family, backend, stream }));
          results.push({
            scenario: scenario.name,
            family: family.name,
            backend: backend.name,
            stream,
            note,
          });
        });
      }
    });
  }
}

describeIgnoredParameters(() => stage);

describe("the page of the matrix", () => {
  it("is full and true", () => {
    expect(results).toHaveLength(CELLS);
    const page = renderTable(
      results,
      SCENARIOS.map(({ name }) => name),
    );
    if (WRITES_PAGE) writeFileSync(PAGE, page);
    expect(readFileSync(PAGE, "utf8")).toBe(page);
  });
});

function openCell({ family, backend, stream }: Pick<Cell, "family" | "backend" | "stream">): Cell {
  const marker = `cell-${seed++}-`;
  const { keys } = stage;
  const line = {
    url: stage.urlOf(backend.name),
    key: keys.passthrough,
    stream,
    fetch: scrambledFetch(seed),
  };
  return {
    family,
    backend,
    stream,
    marker,
    keys,
    ask: (question, changes = {}) => family.ask({ ...line, ...changes }, question),
    script: (script) => stage.script(backend.name, marker, script),
    received: () =>
      stage
        .simulatorOf(backend.name)
        .ledger()
        .filter(({ method, body }) => method === "POST" && body?.includes(marker)),
  };
}
