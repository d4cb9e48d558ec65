import { z } from "@hono/zod-openapi";
import { RUN_STATUSES } from "../workflows/runs/run.ts";
import { orNull, storableText, time } from "./fields.ts";
import { chatError } from "./openapi/documentation.ts";

/** Fields that the routes of workflows share. */

/** One week. */
const MAX_TIMEOUT_SECONDS = 604_800;

export const TAG = "Workflows";
export const UNKNOWN_WORKFLOW = { 404: "There is no such workflow for the caller." } as const;
export const UNKNOWN_RUN = { 404: "There is no such run for the caller." } as const;

/** An object whose fields are not the route's own: it is passed on as it is. */
export const anyObject = z.record(z.string(), z.unknown()).readonly();

const EXAMPLE_TRIGGERS = [{ kind: "webhook" }, { kind: "schedule", cron: "0 6 * * 1" }];
const EXAMPLE_STEPS = [
  { id: "tickets", kind: "input" },
  { id: "open", kind: "filter", where: "row.state == 'open'" },
  {
    ...{ id: "report", kind: "notify", url: "https://hooks.example.com/alerts" },
    ...{ each: "row", text: "{{ row.title }}" },
  },
];

/** What a client sets besides the definition. */
const headFields = {
  name: storableText(128).min(1).openapi({ example: "triage" }),
  description: storableText(1_000).nullable(),
  enabled: z.boolean().openapi({ description: "Without it no trigger starts it." }),
  visibility: z.enum(["private", "everyone"]).openapi({
    description: "`everyone`: all users may read, start and stop it; only administrators set it.",
  }),
  key_id: z.string().max(64).nullable().openapi({
    description: "The API key of the owner with which its model steps call.",
  }),
  timeout_seconds: z.int().min(1).max(MAX_TIMEOUT_SECONDS).openapi({
    description: "How long a run may take, from its first start.",
  }),
  keep_rows: z.enum(["all", "failed", "none"]).openapi({
    description: "Of which runs the rows are kept after their end.",
  }),
};

export const newHead = z.strictObject({
  name: headFields.name,
  description: headFields.description.default(null),
  enabled: headFields.enabled.default(true),
  visibility: headFields.visibility.default("private"),
  key_id: headFields.key_id.default(null),
  timeout_seconds: headFields.timeout_seconds.default(3_600),
  keep_rows: headFields.keep_rows.default("all"),
});

export const headChange = z.strictObject({
  ...z.object(headFields).partial().shape,
  owner_id: z.string().max(64).optional().openapi({
    description: "Hands the workflow over; administrators alone.",
  }),
  if_version: z.int().min(1).optional().openapi({
    description: "The version that the change was made from; 409 when there is a later one.",
  }),
});

/** Far above what the definition's own check takes and explains; it bounds what a list of anything costs. */
const LISTED_MAX = 1_000;

const triggers = z.array(anyObject).max(LISTED_MAX).openapi({
  description: "Up to 20; `GET /api/pipeline/step-kinds` describes each kind.",
  example: EXAMPLE_TRIGGERS,
});
const steps = z
  .array(anyObject)
  .max(LISTED_MAX)
  .openapi({
    description:
      "Up to 100, in an order in which each reads from the one above unless `from` says otherwise. `GET " +
      "/api/pipeline/step-kinds` describes each kind.",
    example: EXAMPLE_STEPS,
  });
export const definitionFields = { triggers, steps };

/** Only for the document: the body is checked as a whole, so that all its faults are reported. */
export const newWorkflowBody = newHead
  .extend({ triggers: triggers.optional(), steps })
  .openapi("NewWorkflow", {
    example: { name: "triage", triggers: EXAMPLE_TRIGGERS, steps: EXAMPLE_STEPS },
  });
export const workflowChangeBody = headChange
  .extend({ triggers: triggers.optional(), steps: steps.optional() })
  .openapi("WorkflowChange", { example: { enabled: false, if_version: 3 } });

export const webhook = z
  .object({
    auth: z.enum(["secret", "url"]),
    path: z.string().nullable().openapi({
      description: "Of this server. Null for `url` after it was shown: it is the credential.",
    }),
    secret: z.string().optional().openapi({ description: "Shown this once." }),
  })
  .openapi("WorkflowWebhook", {
    example: { auth: "secret", path: "/api/pipeline/webhook/wf_3v9QmTq2LxZ8cR5nYb7KdW" },
  });

export const schedules = z
  .array(
    z.object({
      trigger: z.int().openapi({ description: "Its place in `triggers`, from 0." }),
      next: z.array(time),
    }),
  )
  .openapi({ description: "The next five times of each schedule." });

const lastRun = z.object({
  run_id: z.string(),
  status: z.enum(RUN_STATUSES),
  queued_at: time,
  ended_at: time.nullable(),
});

export const workflow = z
  .object({
    id: z.string(),
    object: z.literal("workflow"),
    ...headFields,
    owner_id: z.string().nullable().openapi({ description: "Null: no user has it any more." }),
    ...definitionFields,
    version: z.int(),
    webhook: orNull(webhook),
    schedules,
    queued: z.int().openapi({ description: "Runs that wait beside the running one." }),
    max_queued: z.int().openapi({ description: "How many may wait: `PIPELINE_MAX_QUEUED_RUNS`." }),
    last_run: lastRun.nullable().openapi({ description: "The run that was accepted last." }),
    consecutive_failures: z.int().openapi({
      description: "Failed runs since the last completed one.",
    }),
    discarded: anyObject.openapi({
      description: "Triggers that started nothing, by reason.",
      example: { queue_full: 2 },
    }),
    discarded_at: time.nullable().openapi({ description: "The last one of these." }),
    created_at: time,
    updated_at: time,
  })
  .openapi("Workflow", {
    example: {
      id: "wf_3v9QmTq2LxZ8cR5nYb7KdW",
      object: "workflow",
      name: "triage",
      description: null,
      enabled: true,
      visibility: "private",
      key_id: null,
      timeout_seconds: 3_600,
      keep_rows: "all",
      owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
      triggers: EXAMPLE_TRIGGERS,
      steps: EXAMPLE_STEPS,
      version: 1,
      webhook: { auth: "secret", path: "/api/pipeline/webhook/wf_3v9QmTq2LxZ8cR5nYb7KdW" },
      schedules: [{ trigger: 1, next: ["2026-11-30T06:00:00.000Z"] }],
      queued: 0,
      max_queued: 50,
      last_run: null,
      consecutive_failures: 0,
      discarded: {},
      discarded_at: null,
      created_at: "2026-11-23T13:33:20.000Z",
      updated_at: "2026-11-23T13:33:20.000Z",
    },
  });

/** Describes the 400 of a definition, with all its faults. */
export const definitionRefusal = {
  description: "The definition is wrong: `ext.errors` lists every fault with its step and field.",
  content: {
    "application/json": {
      schema: chatError
        .extend({
          ext: z
            .object({
              errors: z.array(
                z.object({
                  step: z.string().nullable().openapi({
                    description: "Its id, or its place (`steps[3]`); null outside the steps.",
                  }),
                  field: z.string(),
                  message: z.string(),
                }),
              ),
            })
            .optional(),
        })
        .openapi("WorkflowDefinitionError"),
    },
  },
};
