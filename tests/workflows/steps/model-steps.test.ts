import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { chatStep as chat } from "../../../src/workflows/steps/chat.ts";
import { classifyStep as classify } from "../../../src/workflows/steps/classify.ts";
import { embedStep as embed } from "../../../src/workflows/steps/embed.ts";
import { extractStep as extract } from "../../../src/workflows/steps/extract.ts";
import type { CheckContext, StepKind } from "../../../src/workflows/steps/step-kind.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { type ModelStage, startModelStage } from "../../support/workflows/model-stage.ts";
import { runStep, type StepCase } from "../../support/workflows/step-stage.ts";

describe("steps that ask models", () => {
  let stage: ModelStage;
  let keyId: string;

  beforeAll(async () => {
    stage = await startModelStage(databaseServerUrl);
    keyId = await stage.createKey();
  }, 120_000);
  beforeEach(() => stage.simulator.reset());
  afterAll(() => stage?.close());

  const run = (kind: StepKind, given: StepCase) => runStep(kind, { ...given, run: { keyId } });
  const bodies = () =>
    stage.simulator
      .ledger()
      .filter(({ method }) => method === "POST")
      .map(({ body }) => JSON.parse(body ?? "null"));
  const check = (kind: StepKind, settings: JsonObject, key: string | null = keyId) =>
    kind.check?.(kind.schema.parse(settings), { keyId: key } as CheckContext);

  const TOTAL = {
    type: "object",
    properties: { total: { type: "number" } },
    required: ["total"],
  };

  describe("chat", () => {
    it("renders prompt and system for each row and passes the parameters on", async () => {
      stage.simulator.script({ text: "fine", times: "always" });
      const settings = {
        model: "sim-small",
        system: "You know {{ row.name }}.",
        prompt: "Who is {{ row.name }}?",
        temperature: 0.5,
        max_tokens: 30,
        output: "reply",
      };
      const done = await run(stage.kind(chat), { settings, rows: [{ name: "Ada" }] });
      expect(done.outputs.main).toEqual([{ name: "Ada", reply: "fine" }]);
      expect(bodies()).toMatchObject([
        {
          model: "sim-small",
          temperature: 0.5,
          messages: [
            { role: "system", content: "You know Ada." },
            { role: "user", content: "Who is Ada?" },
          ],
        },
      ]);
    });

    it("gives the schema to the engine and the parsed answer to the row, large integers as texts", async () => {
      stage.simulator.script({ text: '```json\n{"total": 4.5, "id": 12345678901234567890}\n```' });
      const settings = { prompt: "{{ row.text }}", schema: TOTAL };
      const done = await run(stage.kind(chat), { settings, rows: [{ text: "a" }] });
      expect(done.outputs.main).toEqual([
        { text: "a", answer: { total: 4.5, id: "12345678901234567890" } },
      ]);
      const [body] = bodies();
      expect(body.response_format).toMatchObject({
        type: "json_schema",
        json_schema: { schema: TOTAL },
      });
    });

    it("asks once more with what is wrong, and takes the repaired answer", async () => {
      stage.simulator.script({ text: '{"total": "a lot"}' }, { text: '{"total": 7}' });
      const settings = { prompt: "{{ row.text }}", schema: TOTAL };
      const done = await run(stage.kind(chat), { settings, rows: [{ text: "a" }] });
      expect(done.outputs.main).toEqual([{ text: "a", answer: { total: 7 } }]);
      const [, repair] = bodies();
      expect(repair.messages.slice(-2)).toMatchObject([
        { role: "assistant", content: '{"total": "a lot"}' },
        { role: "user", content: expect.stringContaining("/total must be number") },
      ]);
      expect(done.usage.calls).toBe(2);
    });

    it("makes a row error of a second wrong answer, without a word of it", async () => {
      const secret = '{"total": {"hidden_name": "hidden text"}}';
      stage.simulator.script({ text: secret, times: 2 }, { text: '{"total": 1}' });
      const settings = { prompt: "{{ row.text }}", schema: TOTAL, concurrency: 1 };
      const done = await run(stage.kind(chat), {
        settings,
        rows: [{ text: "a" }, { text: "b" }],
        onRowError: "route",
      });
      expect(done.outputs.main).toEqual([{ text: "b", answer: { total: 1 } }]);
      expect(done.firstRowError).toMatchObject({ row: 1, code: "invalid_answer" });
      expect(done.firstRowError?.message).toContain("total must be number");
      expect(JSON.stringify(done.outputs)).not.toContain("hidden");
    });

    it("does only the rows that a lost worker had not finished", async () => {
      const finished = new Map<number, readonly JsonObject[]>([
        [1, [{ text: "a", answer: "old" }]],
      ]);
      stage.simulator.script({ text: "new", times: "always" });
      const settings = { prompt: "{{ row.text }}" };
      const rows = [{ text: "a" }, { text: "b" }];
      const done = await run(stage.kind(chat), { settings, rows, finished });
      expect(done.outputs.main.map(({ answer }) => answer)).toEqual(["old", "new"]);
      expect(bodies()).toHaveLength(1);
    });

    it.each([
      [{ type: "string", pattern: "(a+)+$" }, "It has 'pattern'"],
      [
        { $ref: "#/$defs/a", $defs: { a: { items: { $ref: "#/$defs/a" } } } },
        "It refers to itself",
      ],
      [{ $ref: "https://example.com/schema" }, "does not begin with '#/$defs/'"],
      [{ type: "nothing" }, "schema is invalid"],
    ])("refuses the schema %j when the workflow is saved", async (schema, message) => {
      const faults = await check(stage.kind(chat), { prompt: "a", schema });
      expect(faults).toEqual([{ field: "schema", message: expect.stringContaining(message) }]);
    });

    it("takes a schema with definitions, also one whose property is named like a keyword", async () => {
      const schema = {
        type: "object",
        properties: { pattern: { $ref: "#/$defs/text" } },
        $defs: { text: { type: "string" } },
      };
      expect(await check(stage.kind(chat), { prompt: "a", schema })).toEqual([]);
    });

    it("refuses a model that is not there, and a model beside an assistant", async () => {
      const kind = stage.kind(chat);
      expect(await check(kind, { prompt: "a", model: "sim-chart" })).toMatchObject([
        { field: "model" },
      ]);
      expect(await check(kind, { prompt: "a", assistant: "nobody" })).toMatchObject([
        { field: "assistant", message: expect.stringContaining("'nobody'") },
      ]);
      const both = { prompt: "a", model: "sim-chat", assistant: "x" };
      expect(await check(kind, both)).toMatchObject([{ field: "assistant" }]);
      expect(await check(kind, { prompt: "a", model: "sim-chat" })).toEqual([]);
    });
  });

  describe("classify", () => {
    it("gives each row one label, and asks again when the model answers another word", async () => {
      stage.simulator.script({ text: '{"label": "fury"}' }, { text: '{"label": "complaint"}' });
      const settings = {
        labels: { complaint: "unhappy", praise: "happy" },
        text: "{{ row.text }}",
      };
      const done = await run(stage.kind(classify), { settings, rows: [{ text: "Bad!" }] });
      expect(done.outputs.main).toEqual([{ text: "Bad!", label: "complaint" }]);
      const [first] = bodies();
      expect(first.messages[0].content).toContain("- complaint: unhappy\n- praise: happy");
      expect(first.messages[1]).toEqual({ role: "user", content: "Bad!" });
      const { strict, schema } = first.response_format.json_schema;
      expect(strict).toBe(true);
      expect(schema.properties.label.enum).toEqual(["complaint", "praise"]);
    });

    it("gives a list with `multiple`, also an empty one", async () => {
      stage.simulator.script({ text: '{"labels": []}' }, { text: '{"labels": ["a", "b"]}' });
      const settings = {
        ...{ labels: ["a", "b", "c"], text: "{{ row.text }}", output: "tags" },
        ...{ multiple: true, concurrency: 1 },
      };
      const rows = [{ text: "x" }, { text: "y" }];
      const done = await run(stage.kind(classify), { settings, rows });
      expect(done.outputs.main.map(({ tags }) => tags)).toEqual([[], ["a", "b"]]);
    });

    it("refuses labels that stand twice, and fewer than two", async () => {
      const kind = stage.kind(classify);
      const faults = (labels: string[]) => check(kind, { labels, text: "x" });
      expect(await faults(["a", "b", "a"])).toEqual([
        { field: "labels", message: "The label 'a' stands twice." },
      ]);
      expect(await faults(["a"])).toMatchObject([{ field: "labels" }]);
      expect(kind.schema.safeParse({ labels: ["a", "b"] }).success).toBe(false);
    });
  });

  describe("extract", () => {
    it("adds fields of their types to the row, null for what the text lacks", async () => {
      stage.simulator.script({ text: '{"supplier": "ACME", "total": 9.5, "due": null}' });
      const settings = {
        fields: { supplier: "Who", total: { type: "number" }, due: "When" },
        text: "{{ row.text }}",
        prompt: "An invoice of {{ row.year }}.",
      };
      const done = await run(stage.kind(extract), { settings, rows: [{ text: "t", year: 2026 }] });
      expect(done.outputs.main).toEqual([
        { text: "t", year: 2026, supplier: "ACME", total: 9.5, due: null },
      ]);
      const [{ messages, response_format }] = bodies();
      expect(messages[0].content).toContain("An invoice of 2026.");
      expect(response_format.json_schema.schema).toMatchObject({
        properties: { supplier: { type: ["string", "null"] }, total: { type: ["number", "null"] } },
        required: ["supplier", "total", "due"],
        additionalProperties: false,
      });
    });

    it("puts everything into one field with `output`, and needs an object without", async () => {
      stage.simulator.script({ text: "[1, 2]" });
      const schema = { type: "array", items: { type: "integer" } };
      const settings = { schema, text: "{{ row.text }}", output: "numbers" };
      const done = await run(stage.kind(extract), { settings, rows: [{ text: "t" }] });
      expect(done.outputs.main).toEqual([{ text: "t", numbers: [1, 2] }]);
      expect(await check(stage.kind(extract), { schema, text: "x" })).toMatchObject([
        { field: "schema", message: expect.stringContaining("'object'") },
      ]);
    });
  });

  describe("embed", () => {
    const rows = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ text: `t${index}` }));

    it("embeds many rows in a request, and gives each its own vector", async () => {
      const done = await run(stage.kind(embed), {
        settings: { text: "{{ row.text }}" },
        rows: rows(300),
      });
      expect(done.outputs.main).toHaveLength(300);
      expect(bodies().map(({ input }) => input.length)).toEqual([64, 64, 64, 64, 44]);
      expect(done.usage.calls).toBe(5);
      const alone = await run(stage.kind(embed), { settings: { text: "t217" }, rows: rows(1) });
      expect(done.outputs.main[217]?.["embedding"]).toEqual(alone.outputs.main[0]?.["embedding"]);
      expect(done.outputs.main[216]?.["embedding"]).not.toEqual(
        alone.outputs.main[0]?.["embedding"],
      );
    });

    it("finds the one row that the engine refuses, and an empty one, and embeds the others", async () => {
      const refused = { status: 400, body: { error: { message: "too long" } } };
      stage.simulator.script({ match: { body: '"t5"' }, respond: refused, times: "always" });
      const done = await run(stage.kind(embed), {
        settings: { text: "{{ row.text }}" },
        rows: [...rows(20), { text: "" }],
        onRowError: "skip",
      });
      expect(done.outputs.main).toHaveLength(19);
      expect(done.rowErrors).toBe(2);
      expect(done.firstRowError).toMatchObject({ row: 6, code: "invalid_value" });
    });
  });
});
