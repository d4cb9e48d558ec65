import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { PasteStage } from "./paste-stage.ts";
import { type PastedLine, readPastedLines } from "./shell-lines.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const lines = readPastedLines();
const cases = lines.map((line): [string, PastedLine] => [
  `${line.file}:${line.line} ${line.text.split("\n")[0]?.slice(0, 70)}`,
  line,
]);

let stage: PasteStage;
beforeAll(async () => {
  stage = await PasteStage.open();
});
afterAll(() => stage.close());

/** What its lines show must have happened before. */
const BEFORE: Readonly<Record<string, () => Promise<void>>> = {
  "docs/bi.md": () => stage.awaitDataCopy(),
  "docs/operations.md": () => stage.leaveDeadEvent(),
};
/** What a line must print, where to end without an error is not enough. */
const PRINTS: readonly (readonly [RegExp, RegExp])[] = [
  [/When is the pump/, /"cited": ?true/],
  [/for ticket 7/, /"name": ?"mcp_tickets_find_ticket", ?"status": ?"ok"/],
  [/tools\/list/, /"name":"search_knowledge"/],
  [/claude mcp add/, /tools: search_knowledge/],
  [/usage_by_day\?group/, /"columns":\[\{"name":"model"/],
  [/usage_by_day\?format=csv/, /^day,day_start,/m],
  [/data\/query/, /"has_more":false/],
];
const prepared = new Set<string>();

describe("each line to paste of README and docs does what it says", () => {
  it.each(cases)("%s", async (_name, line) => {
    if (!prepared.has(line.file)) await BEFORE[line.file]?.();
    prepared.add(line.file);
    const { code, output } = await stage.run(line);
    const printed = PRINTS.filter(([asked]) => asked.test(line.text)).map(([, shown]) => shown);
    if (code === 0 && printed.every((shown) => shown.test(output))) return;
    expect.fail(`${line.file}:${line.line}: the line ends with ${code}\n${line.text}\n${output}`);
  });

  it("is found in every document that has some", () => {
    const files = new Set(lines.map(({ file }) => file));
    expect([...files]).toEqual([
      ...["README.md", "docs/administration.md", "docs/bi.md", "docs/operations.md"],
      ...["docs/tools.md", "docs/workflows.md"],
    ]);
    expect(lines.some(({ by }) => by === "cron")).toBe(true);
  });
});
