import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { keepLargeNumbers } from "../../lib/json/exact-json.ts";
import { COMMON_FIELDS } from "../../workflows/definition/parse-steps.ts";
import { TRIGGER_SCHEMAS } from "../../workflows/definition/parse-triggers.ts";
import { testWorkflowStep } from "../../workflows/records/test-workflow-step.ts";
import type { Row } from "../../workflows/rows/row.ts";
import type { StepKind } from "../../workflows/steps/step-kind.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { idOf } from "../request/id-of.ts";
import { inSilence } from "../request/in-silence.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { anyObject, definitionRefusal, TAG } from "../workflow-fields.ts";

const MAX_ROWS = 100;
const MAX_INPUTS = 100;
/** Rows as a webhook takes them. */
const BODY = { maxBytes: 32 * 1024 * 1024, isFixed: true, rewrite: keepLargeNumbers } as const;
/** `{inputs: {name: [row]}}`: a row may nest as deep as one that is the body of a webhook. */
const LEVELS_AROUND_ROWS = 3;

const stepKind = z
  .object({
    object: z.literal("step_kind"),
    kind: z.string(),
    group: z.enum(["source", "transform", "control", "model", "sink"]),
    label: z.string(),
    help: z.string(),
    administrators_only: z.boolean(),
    needs_key: z.boolean(),
    schema: anyObject.openapi({ description: "JSON Schema of the kind's own fields." }),
    outputs: z.array(z.string()).openapi({
      description: "The named outputs of the example, besides its main one.",
    }),
    example: anyObject.openapi({ description: "The kind's own fields of a valid step." }),
  })
  .openapi("StepKind", {
    example: {
      object: "step_kind",
      kind: "limit",
      group: "transform",
      label: "Limit",
      help: "Passes on the first rows.",
      administrators_only: false,
      needs_key: false,
      schema: { type: "object", properties: { count: { type: "integer" } } },
      outputs: [],
      example: { count: 10 },
    },
  });
const kindList = z
  .object({
    object: z.literal("list"),
    data: z.array(stepKind),
    common: anyObject.openapi({ description: "JSON Schema of the fields of every step." }),
    triggers: anyObject.openapi({ description: "JSON Schemas of triggers, by their kinds." }),
  })
  .openapi("StepKindList");

const rows = z.array(anyObject).max(MAX_ROWS);
const stepTest = z
  .strictObject({
    rows: rows.default([]).openapi({ description: "For the first input." }),
    inputs: z
      .record(z.string(), rows)
      .refine((given) => Object.keys(given).length <= MAX_INPUTS, `at most ${MAX_INPUTS} inputs`)
      .default({})
      .openapi({ description: "For inputs by name: a step's id, or `check_else` for an output." }),
  })
  .openapi("StepTest", { example: { rows: [{ title: "Printer on fire" }] } });

const testResult = z
  .object({
    object: z.literal("step_test"),
    outputs: anyObject.openapi({ example: { main: [{ title: "Printer on fire" }] } }),
    row_errors: z.array(z.object({ row: z.int(), code: z.string(), message: z.string() })),
    told: z.array(z.string()).openapi({ description: "What a sink would have done." }),
    usage: z.object({ calls: z.int(), input_tokens: z.int(), output_tokens: z.int() }),
    breaks: z
      .object({ as: z.enum(["completed", "failed"]), message: z.string() })
      .nullable()
      .openapi({ description: "How the step would have ended the run." }),
    error: z
      .object({ code: z.string(), message: z.string(), row: z.int().nullable() })
      .nullable()
      .openapi({ description: "Why the step failed." }),
    truncated: z.boolean().openapi({ description: "The step made more rows than are shown." }),
  })
  .openapi("StepTestResult");

const SHARED = { access: "person", tag: TAG } as const;

const LIST = resourceRoute({
  ...SHARED,
  tokens: "workflows",
  path: "/api/pipeline/step-kinds",
  method: "get",
  operationId: "listStepKinds",
  summary: "List the kinds of steps and triggers",
  answer: { description: "All kinds with the schemas of their fields.", schema: kindList },
});
const testRoute = resourceRoute({
  ...SHARED,
  // Its answer shows the rows that a step reads.
  tokens: "workflows:write",
  path: "/api/pipeline/workflows/{id}/steps/{step}/test",
  method: "post",
  operationId: "testWorkflowStep",
  summary: "Test one step with sample rows",
  description:
    "Runs the step as it is saved, once and outside any run, for at most a minute. Sinks only report what they would do.",
  body: stepTest,
  answer: { description: "What became of the rows.", schema: testResult },
  errors: { 404: "There is no such workflow or step for the caller." },
});
/** A workflow is tested that can run as it is saved. */
const TEST = { ...testRoute, responses: { ...testRoute.responses, 400: definitionRefusal } };

/** `/api/pipeline/step-kinds`, and the test of a step. */
export function stepKindsRoutes(deps: Deps): Router {
  const { workflows: records, settings } = deps;
  const body = { ...BODY, maxDepth: settings.MAX_JSON_DEPTH + LEVELS_AROUND_ROWS };
  const router = createRouter(deps);
  let kinds: string | undefined;
  router.add(LIST, () => {
    kinds ??= JSON.stringify(toJson(kindList, describeKinds(records.kinds.list)));
    return new Response(kinds, { headers: { "content-type": "application/json" } });
  });
  router.add(TEST, async (context, caller) => {
    const given = await readCheckedBody(context, stepTest, body);
    const result = await inSilence(context, () =>
      testWorkflowStep(records, caller, {
        id: idOf(context),
        stepId: context.req.param("step") ?? "",
        rows: given.rows as readonly Row[],
        inputs: given.inputs as Readonly<Record<string, readonly Row[]>>,
        signal: context.req.raw.signal,
      }),
    );
    return jsonResponse(toJson(testResult, result));
  });
  return router;
}

function describeKinds(kinds: readonly StepKind[]) {
  const triggers = Object.entries(TRIGGER_SCHEMAS).map(([kind, schema]) => [kind, asJson(schema)]);
  return {
    data: kinds.map(describeKind),
    common: asJson(COMMON_FIELDS),
    triggers: Object.fromEntries(triggers),
  };
}

function describeKind(kind: StepKind) {
  const { administratorsOnly = false, needsKey = false, schema, outputs } = kind;
  const { data } = schema.safeParse(kind.example);
  return {
    ...kind,
    administratorsOnly,
    needsKey,
    schema: asJson(schema),
    outputs: data === undefined ? [] : (outputs?.(data) ?? []),
  };
}

/** As clients write it; what JSON Schema cannot say is left open. */
function asJson(schema: z.core.$ZodType): Readonly<Record<string, unknown>> {
  return { ...z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) };
}
