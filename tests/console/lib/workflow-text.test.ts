import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../../src/console/lib/json/json-schema.ts";
import { readSteps } from "../../../src/console/lib/workflow-graph.ts";
import {
  addStep,
  changeOf,
  connectSteps,
  deleteStep,
  disconnectSteps,
  placeOfFault,
  readWorkflow,
  renameStep,
  setHead,
  setInputs,
  setStep,
  setTrigger,
  workflowText,
} from "../../../src/console/lib/workflow-text.ts";
import { EXAMPLES } from "../../../src/console/pages/workflows/list/examples.ts";

const documented = [
  ...readFileSync("docs/workflows.md", "utf8").matchAll(/^```json\n([\s\S]*?)^```/gm),
].map(([, text = ""]) => text);

/** Each step reads from one or two others, by place, by list and by one name. */
const many = workflowText({
  name: "many",
  triggers: [{ kind: "schedule", cron: "0 6 * * 1" }],
  steps: Array.from({ length: 100 }, (_, at) => ({
    id: `step_${at}`,
    kind: at === 0 ? "input" : "filter",
    ...(at > 0 && { where: `row.total > ${at} && row.name != 'a "quoted" name'` }),
    ...(at % 3 === 2 && { from: [`step_${at - 1}`, `step_${at - 2}`] }),
    ...(at % 7 === 6 && { from: `step_${at - 1}` }),
  })),
});
const TEXTS = [...documented, many].map((text) => {
  const { name } = JSON.parse(text);
  return { name: String(name), text };
});

function documentOf(text: string) {
  const read = readWorkflow(text);
  if ("fault" in read) throw new Error(read.fault.message);
  return read.document;
}

/** The lines that differ: how many were there, how many are now. */
function changedLines(before: string, after: string): readonly [number, number] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return [old.length - head - tail, now.length - head - tail];
}

describe("the workflows to begin with", () => {
  it("are those of the documentation", () => {
    expect(documented).toHaveLength(5);
    expect(EXAMPLES.map(({ text }) => text)).toEqual(documented);
  });
});

describe.each(TEXTS)("a workflow as text and as graph: $name", ({ text }) => {
  const { steps, triggers, value } = documentOf(text);

  it("is the same text, byte for byte, when nothing is changed", () => {
    let same = text;
    for (const step of steps) {
      const fields = (value["steps"] as readonly JsonValue[])[step.at] as never;
      same = setStep(same, step.at, fields);
      same = setInputs(
        same,
        step.at,
        step.inputs.map(({ step: id, output }) => (output === "main" ? id : `${id}.${output}`)),
      );
    }
    for (const [at, trigger] of triggers.entries()) same = setTrigger(same, at, trigger);
    for (const [field, one] of Object.entries(value)) same = setHead(same, field, one);
    expect(same).toBe(text);
  });

  it("is the same text after a change and back", () => {
    // Of a hundred steps every ninth: all ways to read are among them.
    for (const { at, id } of steps.filter((_, place) => steps.length < 20 || place % 9 === 0)) {
      expect(renameStep(renameStep(text, at, "another_name"), at, id)).toBe(text);
      expect(deleteStep(addStep(text, at, { id: "added", kind: "limit", count: 3 }), at + 1)).toBe(
        text,
      );
    }
  });

  it("changes the line of a field and no other", () => {
    for (const { at } of steps) {
      const fields = (value["steps"] as readonly JsonValue[])[at] as Record<string, JsonValue>;
      const changed = setStep(text, at, { ...fields, retries: 7 });
      expect(documentOf(changed).steps).toEqual(steps);
      expect(JSON.parse(changed).steps[at]).toEqual({ ...fields, retries: 7 });
      const [before, after] = changedLines(text, changed);
      expect(before).toBeLessThanOrEqual(1);
      // A line that becomes too long is broken.
      expect(after).toBeLessThanOrEqual(Object.keys(fields).length + 12);
    }
  });
});

describe("steps and what they read", () => {
  const text = `{
  "name": "a",
  "steps": [
    {"id": "orders", "kind": "input"},
    {"id": "check", "kind": "if", "condition": "row.total > 1"},
    {"id": "large", "kind": "limit", "count": 1},
    {"id": "small", "kind": "limit", "count": 1, "from": ["check.else"]},
    {"id": "all", "kind": "sort", "by": ["id"], "from": ["large", "small"]}
  ]
}
`;
  const inputsOf = (changed: string) =>
    Object.fromEntries(
      readSteps(documentOf(changed).value["steps"]).map(({ id, inputs }) => [
        id,
        inputs.map(({ step, output }) => `${step} ${output}`),
      ]),
    );

  it("reads from the step above, from named outputs, and from several", () => {
    expect(inputsOf(text)).toEqual({
      orders: [],
      check: ["orders main"],
      large: ["check main"],
      small: ["check else"],
      all: ["large main", "small main"],
    });
  });

  it("bridges a step that is deleted", () => {
    expect(inputsOf(deleteStep(text, 1))).toEqual({
      orders: [],
      large: ["orders main"],
      small: ["orders main"],
      all: ["large main", "small main"],
    });
    // By place it would read from another step than before.
    expect(inputsOf(deleteStep(text, 3))["all"]).toEqual(["large main", "check else"]);
  });

  it("renames what others read, connects and disconnects", () => {
    expect(inputsOf(renameStep(text, 1, "split"))["small"]).toEqual(["split else"]);
    const connected = connectSteps(text, { step: "check", output: "else" }, 4);
    expect(inputsOf(connected)["all"]).toEqual(["large main", "small main", "check else"]);
    expect(disconnectSteps(connected, { step: "check", output: "else" }, 4)).toBe(text);
    expect(connectSteps(text, { step: "orders", output: "main" }, 0)).toBe(text);
    expect(changedLines(text, connected)).toEqual([1, 1]);
  });

  it("finds the line of a fault, else the step, else the beginning", () => {
    const { root, ...rest } = documentOf(text);
    const shown = (step: string | null, field: string) => {
      const place = placeOfFault({ root, ...rest }, { step, field, message: "" });
      return place && text.slice(place.start, place.end);
    };
    expect(shown("all", "by[0]")).toBe('"id"');
    expect(shown("all", "from")).toBe('"from": ["large", "small"]');
    expect(shown("steps[2]", "missing")).toBe('{"id": "large", "kind": "limit", "count": 1}');
    expect(shown(null, "name")).toBe('"name": "a"');
    expect(shown(null, "key_id")).toBe("{");
    expect(shown("gone", "by")).toBeUndefined();
  });

  it("sends defaults for what the text leaves out", () => {
    expect(changeOf(documentOf('{"name": "b", "steps": [], "keep_rows": "none"}'))).toEqual({
      ...{ name: "b", description: null, visibility: "private", key_id: null },
      ...{ timeout_seconds: 3_600, keep_rows: "none", triggers: [], steps: [] },
    });
  });

  it.each([
    ['{"steps": [}', "Here there is '}', and a value was expected."],
    ['{"a": 1 "b"}', "Here there is '\"', and ',' or '}' was expected."],
    ["[]", "A workflow is an object: {…}."],
    ["", "Here the text ends, and a value was expected."],
    ["[".repeat(500), "More than 200 levels."],
  ])("says what is wrong with %s", (wrong, message) => {
    expect(readWorkflow(wrong)).toMatchObject({ fault: { message } });
  });
});
