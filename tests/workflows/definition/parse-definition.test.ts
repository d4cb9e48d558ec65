import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/lib/json/json.ts";
import { MAX_DEFINITION_BYTES } from "../../../src/workflows/definition/definition.ts";
import { parseDefinition, parseDraft } from "../../../src/workflows/definition/parse-definition.ts";
import { triggerKey } from "../../../src/workflows/definition/trigger-key.ts";
import { tinyKinds } from "../../support/workflows/tiny-kinds.ts";

const SOURCE = { id: "orders", kind: "tiny_source", rows: [{ n: 1 }] };
const PICK = { id: "check", kind: "tiny_pick", condition: "row.n > 1" };
const MODEL = { id: "classify", kind: "tiny_model", labels: ["a", "b"] };
const SINK = { id: "send", kind: "tiny_sink", to: "somewhere" };
const WHOLE = {
  triggers: [{ kind: "webhook" }],
  steps: [SOURCE, PICK, MODEL, SINK],
};

const parse = (given: unknown) => parseDefinition(given, tinyKinds);
const withStep = (at: number, change: JsonObject) => ({
  ...WHOLE,
  steps: WHOLE.steps.map((step, place) => (place === at ? { ...step, ...change } : step)),
});
const withTriggers = (...triggers: readonly JsonValue[]) => ({ ...WHOLE, triggers });
const without = ({ [0]: name, [1]: step }: readonly [string, JsonObject]) =>
  Object.fromEntries(Object.entries(step).filter(([field]) => field !== name));

/** One mistake each: what is sent, the step and field that the fault names, and what it says. */
const MISTAKES: readonly (readonly [unknown, string | null, string, RegExp])[] = [
  // The whole.
  ["text", null, "steps", /object/],
  [null, null, "steps", /object/],
  [{ triggers: [] }, null, "steps", /at least one step/],
  [{ steps: [] }, null, "steps", /at least one step/],
  [{ steps: {} }, null, "steps", /list/],
  [{ ...WHOLE, triggers: {} }, null, "triggers", /list of triggers/],
  [withStep(0, { rows: [{ text: "a\u0000b" }] }), null, "steps[0].rows[0].text", /U\+0000/],
  [withStep(0, { rows: [{ text: "\ud800" }] }), null, "steps[0].rows[0].text", /surrogate/],
  [
    { steps: Array.from({ length: 101 }, (_, at) => ({ ...SOURCE, id: `s${at}` })) },
    null,
    "steps",
    /101 steps; at most 100/,
  ],
  // Every step's fields.
  [{ ...WHOLE, steps: [...WHOLE.steps, 7] }, "steps[4]", "", /'id' and 'kind'/],
  [{ ...WHOLE, steps: [without(["id", SOURCE])] }, "steps[0]", "id", /received nothing/],
  [withStep(3, { id: "Send It" }), "steps[3]", "id", /a-z, 0-9/],
  [withStep(3, { id: "1send" }), "steps[3]", "id", /a letter first/],
  [withStep(3, { id: "s".repeat(41) }), "steps[3]", "id", /40 characters/],
  [withStep(3, { id: 5 }), "steps[3]", "id", /received the number 5/],
  [withStep(3, { id: "orders" }), "steps[3]", "id", /steps\[0\] has the id 'orders'/],
  [{ ...WHOLE, steps: [without(["kind", SOURCE])] }, "orders", "kind", /received nothing/],
  [withStep(1, { kind: 1 }), "check", "kind", /a string/],
  [withStep(1, { kind: "tiny_pik" }), "check", "kind", /Did you mean 'tiny_pick'/],
  [withStep(1, { kind: "banana" }), "check", "kind", /Use one of 'tiny_source'/],
  [withStep(3, { run_on_empty: "yes" }), "send", "run_on_empty", /a boolean/],
  [withStep(3, { retries: -1 }), "send", "retries", /at least 0/],
  [withStep(3, { retries: 11 }), "send", "retries", /at most 10/],
  [withStep(3, { retries: 1.5 }), "send", "retries", /int/],
  [withStep(3, { retries: "2" }), "send", "retries", /received the string "2"/],
  [withStep(3, { timeout_seconds: 0 }), "send", "timeout_seconds", /at least 1/],
  [withStep(3, { timeout_seconds: 86_401 }), "send", "timeout_seconds", /at most 86400/],
  [withStep(3, { timeout_seconds: null }), "send", "timeout_seconds", /received null/],
  [withStep(3, { on_row_error: "ignore" }), "send", "on_row_error", /"fail", "skip", "route"/],
  [withStep(3, { retry: 2 }), "send", "retry", /Did you mean 'retries'/],
  [withStep(3, { on_row_eror: "skip" }), "send", "on_row_eror", /'on_row_error'/],
  [withStep(3, { zzz: 1 }), "send", "zzz", /Use one of 'to'/],
  // What a step reads from.
  [withStep(3, { from: 3 }), "send", "from", /an array/],
  [withStep(3, { from: [3] }), "send", "from[0]", /a string/],
  [withStep(3, { from: "clasify" }), "send", "from", /Did you mean 'classify'/],
  [withStep(3, { from: "elsewhere" }), "send", "from", /Use one of 'orders'/],
  [withStep(3, { from: "send" }), "send", "from", /from itself/],
  [withStep(3, { from: ["check", "check"] }), "send", "from", /Two inputs/],
  [withStep(3, { from: "check.els" }), "send", "from", /Did you mean 'check.else'/],
  [withStep(3, { from: "check.other" }), "send", "from", /no output 'check.other'/],
  [withStep(3, { from: "check.errors" }), "send", "from", /'on_row_error' to 'route'/],
  [withStep(3, { from: "orders.else" }), "send", "from", /no output 'orders.else'/],
  [withStep(3, { from: [] }), "send", "from", /needs rows/],
  [{ steps: [PICK] }, "check", "from", /Begin with a source/],
  [withStep(1, { from: "classify" }), "check", "from", /wait for each other/],
  [
    {
      ...WHOLE,
      steps: [
        ...WHOLE.steps,
        { ...SINK, id: "one", from: "two" },
        { ...SINK, id: "two", from: ["one", "orders"] },
      ],
    },
    "one",
    "from",
    /'one' → 'two' → 'one'/,
  ],
  // A kind's own fields.
  [{ ...WHOLE, steps: [without(["rows", SOURCE])] }, "orders", "rows", /received nothing/],
  [withStep(0, { rows: [1] }), "orders", "rows[0]", /an object/],
  [withStep(1, { condition: "" }), "check", "condition", /non-empty/],
  [withStep(1, { condition: 1 }), "check", "condition", /a string/],
  [withStep(1, { condition: "x".repeat(101) }), "check", "condition", /at most 100/],
  [withStep(2, { labels: ["a"] }), "classify", "labels", /array/],
  [withStep(2, { labels: "a" }), "classify", "labels", /an array, received the string/],
  [withStep(2, { labels: ["a", 2] }), "classify", "labels[1]", /a string/],
  [withStep(2, { labls: ["a", "b"] }), "classify", "labls", /Did you mean 'labels'/],
  [withStep(2, { concurrency: 33 }), "classify", "concurrency", /at most 32/],
  [withStep(2, { condition: "true" }), "classify", "condition", /no field 'condition'/],
  [withStep(3, { headers: { a: { secret: 1 } } }), "send", "headers.a.secret", /a string/],
  [withStep(3, { headers: { a: { secre: "x" } } }), "send", "headers.a.secret", /./],
  // Triggers.
  [withTriggers("webhook"), null, "triggers[0]", /an object/],
  [withTriggers({}), null, "triggers[0].kind", /kind of trigger/],
  [withTriggers({ kind: "webhok" }), null, "triggers[0].kind", /Did you mean 'webhook'/],
  [withTriggers({ kind: "webhook", auth: "none" }), null, "triggers[0].auth", /"secret", "url"/],
  [withTriggers({ kind: "webhook", secret: "x" }), null, "triggers[0].secret", /no field 'secret'/],
  [
    withTriggers({ kind: "webhook" }, { kind: "webhook", auth: "url" }),
    null,
    "triggers[1]",
    /a workflow has one/,
  ],
  [withTriggers({ kind: "schedule" }), null, "triggers[0].cron", /either 'cron'/],
  [
    withTriggers({ kind: "schedule", cron: "0 6 * * 1", every: "30s" }),
    null,
    "triggers[0].cron",
    /either 'cron'/,
  ],
  [withTriggers({ kind: "schedule", every: 30 }), null, "triggers[0].every", /a string/],
  [
    withTriggers({ kind: "schedule", cron: "@daily", timezone: 1 }),
    null,
    "triggers[0].timezone",
    /a string/,
  ],
  [
    withTriggers({ kind: "schedule", cron: "@daily", coalesce: 1 }),
    null,
    "triggers[0].coalesce",
    /a boolean/,
  ],
  [
    withTriggers({ kind: "schedule", cron: "@daily" }, { cron: "@daily", kind: "schedule" }),
    null,
    "triggers[1]",
    /same trigger as triggers\[0\]/,
  ],
  [withTriggers({ kind: "file" }), null, "triggers[0].path", /received nothing/],
  [withTriggers({ kind: "file", path: "" }), null, "triggers[0].path", /non-empty/],
  [
    withTriggers({ kind: "file", path: "x".repeat(1_001) }),
    null,
    "triggers[0].path",
    /at most 1000/,
  ],
  [
    withTriggers({ kind: "file", path: "in/", on: ["changed"] }),
    null,
    "triggers[0].on[0]",
    /"uploaded", "deleted"/,
  ],
  [withTriggers({ kind: "file", path: "in/", on: [] }), null, "triggers[0].on", /non-empty/],
  [
    withTriggers({ kind: "file", path: "in/", on: ["deleted", "deleted"] }),
    null,
    "triggers[0].on",
    /each event once/,
  ],
  [withTriggers({ kind: "knowledge" }), null, "triggers[0].vector_store", /received nothing/],
  [
    withTriggers({ kind: "workflow", workflow: "*", on: "ended" }),
    null,
    "triggers[0].on[0]",
    /"completed", "failed"/,
  ],
  [withTriggers({ kind: "dataset", dataset: "" }), null, "triggers[0].dataset", /non-empty/],
  [
    withTriggers({ kind: "dataset", dataset: "sales", allow_loop: "yes" }),
    null,
    "triggers[0].allow_loop",
    /a boolean/,
  ],
  [
    withTriggers(
      ...Array.from({ length: 21 }, (_, at) => ({ kind: "dataset", dataset: `d${at}` })),
    ),
    null,
    "triggers",
    /21 triggers; a workflow has at most 20/,
  ],
];

describe("A definition", () => {
  it("is read with what was left out: the step above, no retries but two, no named outputs", () => {
    const { definition, faults } = parse(WHOLE);
    expect(faults).toEqual([]);
    expect(definition.triggers).toEqual([{ kind: "webhook", auth: "secret", allow_loop: false }]);
    expect(definition.steps.map(({ id, from }) => [id, from])).toEqual([
      ["orders", []],
      ["check", ["orders"]],
      ["classify", ["check"]],
      ["send", ["classify"]],
    ]);
    expect(definition.steps[2]).toEqual({
      ...{ id: "classify", kind: "tiny_model", from: ["check"], run_on_empty: false, retries: 2 },
      on_row_error: "fail",
      settings: { labels: ["a", "b"], concurrency: 4 },
    });
  });

  it("reads named outputs, several inputs, and one source that is no list", () => {
    const { definition, faults } = parse({
      steps: [
        SOURCE,
        { ...PICK, on_row_error: "route" },
        { ...SINK, id: "one", from: "check.else" },
        { ...SINK, id: "two", from: ["check", "one", "check.errors"] },
      ],
    });
    expect(faults).toEqual([]);
    expect(definition.steps.map(({ from }) => from)).toEqual([
      [],
      ["orders"],
      ["check.else"],
      ["check", "one", "check.errors"],
    ]);
  });

  it("lets a step without an input run when it asks for that", () => {
    expect(parse({ steps: [{ ...SINK, run_on_empty: true }] }).faults).toEqual([]);
    const guard = { id: "guard", kind: "tiny_break", break_on: "empty" };
    expect(parse({ steps: [guard] }).faults).toEqual([]);
    expect(parse({ steps: [{ ...guard, break_on: "not_empty" }] }).faults).toHaveLength(1);
  });

  it("has at least 60 mistakes in the table below", () => {
    expect(MISTAKES.length).toBeGreaterThanOrEqual(60);
  });

  it.each(MISTAKES)("with a mistake names its step and field: %j", (given, step, field, says) => {
    const { faults } = parse(given);
    const found = faults.find((fault) => fault.step === step && fault.field === field);
    expect(found ?? faults).toMatchObject({ message: expect.stringMatching(says) });
    // Every message says what to do.
    for (const { message } of faults)
      expect(message).toMatch(/^([A-Z'\d]|steps\[|triggers\[).*[.?]$/s);
  });

  it("reports all its faults at once, those outside the steps first, then by steps", () => {
    const { faults } = parse({
      triggers: [{ kind: "file" }],
      steps: [{ ...SOURCE, rows: 1, extra: true }, { ...PICK, from: "nothing" }, { kind: "none" }],
    });
    expect(faults.map(({ step, field }) => [step, field])).toEqual([
      [null, "triggers[0].path"],
      ["orders", "rows"],
      ["orders", "extra"],
      ["check", "from"],
      ["steps[2]", "id"],
      ["steps[2]", "kind"],
    ]);
  });

  it("reports no output of a step that could not be read itself", () => {
    const { faults } = parse({
      steps: [SOURCE, { ...PICK, condition: 1 }, { ...SINK, from: "check.else" }],
    });
    expect(faults.map(({ step }) => step)).toEqual(["check"]);
  });

  it("does not follow names that objects have by themselves", () => {
    const steps = JSON.parse('[{"id": "a", "kind": "__proto__", "__proto__": {"x": 1}}]');
    expect(parse({ steps }).faults.map(({ field }) => field)).toEqual(["kind"]);
    expect(parse(withTriggers({ kind: "constructor" })).faults[0]?.field).toBe("triggers[0].kind");
  });
});

describe("The size of a definition", () => {
  const triggers = Array.from({ length: 10 }, (_, at) => ({
    kind: "schedule",
    cron: `${at} 0 * * *`,
  }));
  const filled = (length: number) => ({
    triggers,
    steps: [{ ...SOURCE, rows: [{ text: "x".repeat(length) }] }],
  });
  const room = (given: ReturnType<typeof filled>) =>
    MAX_DEFINITION_BYTES - Buffer.byteLength(JSON.stringify([given.triggers, given.steps]));
  const faultsOf = (length: number) => parseDraft(filled(length), tinyKinds).faults;
  const tooLarge = {
    step: null,
    field: "steps",
    message: expect.stringMatching(/at most 262144 fit/),
  };

  it("is that of what is stored: what is saved is read again", () => {
    const sent = room(filled(0));
    expect(faultsOf(sent + 1)).toEqual([tooLarge]);
    // The defaults of the triggers do not fit any more.
    expect(faultsOf(sent)).toEqual([tooLarge]);
    const { definition } = parse(filled(0));
    const stored = room({ ...filled(0), triggers: definition.triggers as never });
    expect(faultsOf(stored)).toEqual([]);
    expect(faultsOf(stored + 1)).toEqual([tooLarge]);
  });

  it("is not judged when it is read", () => {
    const { definition } = parse(filled(0));
    const before = { ...filled(room(filled(0))), triggers: definition.triggers };
    expect(parse(before).faults).toEqual([]);
  });
});

describe("The key of a trigger", () => {
  it("stays the same wherever the trigger stands and however its fields are ordered", () => {
    const [one] = parse(withTriggers({ kind: "file", path: "in/" })).definition.triggers;
    const [, other] = parse(
      withTriggers({ kind: "webhook" }, { path: "in/", on: "uploaded", kind: "file" }),
    ).definition.triggers;
    expect(one && triggerKey(one)).toMatch(/^file:[0-9a-f]{16}$/);
    expect(other && triggerKey(other)).toBe(one && triggerKey(one));
  });

  it("differs with every field, and is one for all webhooks", () => {
    const keys = parse(
      withTriggers(
        { kind: "webhook", auth: "url" },
        { kind: "schedule", cron: "@daily" },
        { kind: "schedule", cron: "@daily", timezone: "Europe/Berlin" },
        { kind: "schedule", cron: "@daily", coalesce: true },
        { kind: "schedule", every: "30s" },
      ),
    ).definition.triggers.map(triggerKey);
    expect(new Set(keys).size).toBe(5);
    expect(keys[0]).toBe("webhook");
  });
});
