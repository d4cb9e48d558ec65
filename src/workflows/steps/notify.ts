import { z } from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";
import { storableText } from "../../lib/text/storable-text.ts";
import { enqueue, type NewJob } from "../../queue/enqueue.ts";
import { NOTIFY_TOPIC } from "../notify/open-notifications.ts";
import { unpackRows, unpackTexts } from "../rows/pack-rows.ts";
import type { MadeRow, Row } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import { checkedTemplates, type Filled, fillForRows } from "./shared/step-templates.ts";
import { defineStepKind, type FieldFault, type StepContext, type StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

/** Messages of one step. More would be a data transfer, for which `http_request` is made. */
const MESSAGES_MAX = 1_000;
const MESSAGE_MAX_BYTES = 256 * 1024;
/** Rows that the message about a whole set can name. */
const SET_ROWS_MAX = 100;
const TEXT_MAX = 8_000;
const SECRET_NAME = z.string().min(1).max(100);

const settings = z.strictObject({
  url: z
    .union([z.url({ protocol: /^https?$/ }).max(2_000), z.strictObject({ secret: SECRET_NAME })])
    .describe("The http or https address, or the name of the secret that holds it."),
  text: z
    .string()
    .min(1)
    .max(TEXT_MAX)
    .describe(
      "The message, with {{ }}. For a set `row.count` is the number of rows and `row.rows` the first 100.",
    ),
  each: z
    .enum(["set", "row"])
    .default("set")
    .describe("One message about all rows, or one for each row, up to 1,000."),
  body: z
    .record(z.string(), z.json())
    .optional()
    .describe("The body in the place of {text, type, details}; its texts may have {{ }}."),
  sign_with: SECRET_NAME.optional().describe(
    "The name of the secret that signs messages as Standard Webhooks defines it.",
  ),
});
type Settings = z.output<typeof settings>;

/** `notify`: messages go through the durable outbox, stored in the transaction that ends the step. */
export function notifyStep(services: StepServices): StepKind {
  return defineStepKind<Settings>({
    kind: "notify",
    group: "sink",
    label: "Send a message",
    help: "Posts a message about the rows to an address, and retries until it is taken; passes the rows on.",
    example: {
      url: "https://hooks.example.com/alerts",
      text: "{{ row.count }} tickets need an answer",
    },
    schema: settings,
    expressions: ({ text, body }) => [
      { field: "text", kind: "text", text },
      ...checkedTemplates("body", body as JsonObject | undefined),
    ],
    check: ({ url, sign_with }, { owner }) => findMissing(services, owner.ownerId, url, sign_with),
    run: (context) => run(services, context),
  });
}

async function findMissing(
  { secrets }: StepServices,
  ownerId: string,
  url: Settings["url"],
  signWith: string | undefined,
): Promise<readonly FieldFault[]> {
  const named: readonly (readonly [field: string, name: string | undefined])[] = [
    ["url.secret", typeof url === "string" ? undefined : url.secret],
    ["sign_with", signWith],
  ];
  const faults: FieldFault[] = [];
  for (const [field, name] of named) {
    if (name === undefined || (await secrets.exists(ownerId, name))) continue;
    const message = `There is no secret '${name}'. Set it by PUT /api/pipeline/secrets/${name}.`;
    faults.push({ field, message });
  }
  return faults;
}

async function run(services: StepServices, context: StepContext<Settings>): Promise<undefined> {
  const { run: claimed, settings: given, isTest, tell } = context;
  const messages =
    given.each === "row" ? await eachRow(services, context) : [await ofSet(services, context)];
  if (isTest) {
    for (const message of messages) tell(`would post ${JSON.stringify(message)}`);
    return undefined;
  }
  const { ownerId } = claimed;
  if (ownerId === null) throw new StepFailure("owner_missing", "The workflow has no owner.");
  const common = {
    ...{ url: given.url, sign_with: given.sign_with ?? null, owner_id: ownerId },
    run: { workflow_id: claimed.workflowId, chain: claimed.chain },
  };
  const jobs = messages.map(
    (message): NewJob => ({
      topic: NOTIFY_TOPIC,
      kind: "workflow.notify",
      body: { ...common, message },
    }),
  );
  await context.commit((transaction) => enqueue(transaction, jobs, services.clock.now()));
  return undefined;
}

/** The message about all rows. */
async function ofSet(services: StepServices, context: StepContext<Settings>): Promise<JsonObject> {
  const rows: Row[] = [];
  let count = 0;
  for await (const chunk of chunksOf(context)) {
    count += chunk.rows;
    if (rows.length < SET_ROWS_MAX) rows.push(...(await unpackRows(chunk)));
    await context.output().chunk(chunk);
  }
  const set: Row = { count, rows: rows.slice(0, SET_ROWS_MAX) };
  const [filled] = await fill(services, context, [set]);
  if (filled === undefined || "error" in filled) {
    throw new StepFailure(filled?.error.code ?? "no_message", filled?.error.message ?? "no text");
  }
  const message = messageOf(context, filled.value, { rows: count });
  if (isTooLarge(message)) throw new StepFailure(TOO_LARGE.code, TOO_LARGE.message);
  return message;
}

async function eachRow(
  services: StepServices,
  context: StepContext<Settings>,
): Promise<readonly JsonObject[]> {
  const messages: JsonObject[] = [];
  let number = 0;
  for await (const chunk of chunksOf(context)) {
    const rows = await unpackTexts(chunk);
    const filled = await fill(services, context, rows);
    for (const [index, row] of rows.entries()) {
      number += 1;
      const result = filled[index];
      if (result === undefined || "error" in result) {
        const error = result?.error ?? { code: "no_message", message: "no text" };
        await context.reject({ row: number, ...error }, row);
        continue;
      }
      if (messages.length === MESSAGES_MAX) throw tooMany();
      const message = messageOf(context, result.value, { row: number });
      if (isTooLarge(message)) {
        await context.reject({ row: number, ...TOO_LARGE }, row);
        continue;
      }
      messages.push(message);
      await context.output().push(row);
    }
  }
  return messages;
}

function fill(
  { rowProcess }: StepServices,
  context: StepContext<Settings>,
  rows: readonly MadeRow[],
): Promise<readonly Filled[]> {
  const { text, body } = context.settings;
  return fillForRows(rowProcess, (body ?? { text }) as JsonValue, rows, context);
}

function messageOf(
  { run: { id, workflowId, workflowName }, step, settings: { body } }: StepContext<Settings>,
  filled: JsonValue,
  about: JsonObject,
): JsonObject {
  const details = { workflow_id: workflowId, workflow: workflowName, run_id: id, step: step.id };
  const given = storable(filled) as JsonObject;
  if (body !== undefined) return given;
  return { text: given["text"], type: "workflow_notify", details: { ...details, ...about } };
}

/** Texts of rows may have characters that the outbox cannot store. */
function storable(value: JsonValue): JsonValue {
  if (typeof value === "string") return storableText(value);
  if (Array.isArray(value)) return value.map(storable);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, storable(item ?? null)]),
  );
}

const TOO_LARGE = {
  code: "message_too_large",
  message: `A message is larger than ${MESSAGE_MAX_BYTES} bytes. Name fewer rows in its text.`,
};

function isTooLarge(message: JsonObject): boolean {
  return Buffer.byteLength(JSON.stringify(message)) > MESSAGE_MAX_BYTES;
}

async function* chunksOf({ inputs, signal }: StepContext<Settings>) {
  for (const input of inputs) {
    for await (const chunk of input.chunks()) {
      signal.throwIfAborted();
      yield chunk;
    }
  }
}

function tooMany(): StepFailure {
  return new StepFailure(
    "too_many_messages",
    `A step sends at most ${MESSAGES_MAX} messages. Send one about the set, or use http_request.`,
  );
}
