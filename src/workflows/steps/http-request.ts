import { z } from "zod";
import { type AddressCall, callAddress } from "../calls-out/call-address.ts";
import { answerReader } from "../calls-out/read-answer.ts";
import {
  checkRequest,
  type HeaderFields,
  readHeaders,
  refuseOtherOrigin,
  requestFields,
} from "../calls-out/request-fields.ts";
import { eachRowWithTexts, type RowItem } from "../models/each-row.ts";
import { concurrency, fieldName, template, textExpressions } from "../models/model-fields.ts";
import { joinRows } from "../models/row-batches.ts";
import { textWithField } from "../rows/row.ts";
import { defineStepKind, type StepContext } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const METHODS = ["POST", "PUT", "PATCH", "DELETE", "GET"] as const;

interface HttpRequest {
  readonly method: (typeof METHODS)[number];
  readonly url: string;
  readonly headers: HeaderFields;
  readonly body?: string | undefined;
  readonly batch?: number | undefined;
  readonly output?: string | undefined;
  readonly request_timeout_seconds: number;
  readonly concurrency: number;
}

const schema = z
  .strictObject({
    ...requestFields,
    method: z.enum(METHODS).default("POST"),
    body: template.optional().describe("The body, with {{ }}. Unset, the row as JSON."),
    batch: z
      .int()
      .min(2)
      .max(1_000)
      .optional()
      .describe("Rows in one request, as a JSON array. Unset, each row has its own."),
    output: fieldName.optional().describe("The field that gets `{status, body}` of the answer."),
    concurrency: concurrency.describe("Requests at once."),
  })
  .refine(
    ({ batch, body, url }) => batch === undefined || (body === undefined && !url.includes("{{")),
    {
      path: ["batch"],
      message:
        "A batch is sent as a JSON array to one address: leave out `body`, and {{ }} in `url`.",
    },
  );

/** Sends rows to an address. */
export function httpRequestStep(services: StepServices) {
  const { egress, secrets, rowProcess } = services;
  return defineStepKind<HttpRequest>({
    kind: "http_request",
    group: "sink",
    label: "Call an address",
    help: "Sends each row, or batches of rows, to an address and passes them on.",
    example: {
      url: "https://example.com/hooks/tickets",
      headers: { authorization: { secret: "crm" } },
    },
    schema,
    expressions: ({ url, body }) => textExpressions({ url, body }),
    check: (settings, { owner }) => checkRequest({ egress, secrets }, settings, owner.ownerId),
    async run(context) {
      const { settings, run, isTest } = context;
      const { url, body, batch, concurrency: atOnce } = settings;
      const headers = isTest ? {} : await readHeaders(secrets, run.ownerId, settings.headers);
      const send = senderOf(services, context, headers);
      const sendJoined = batchSender(send, context);
      await eachRowWithTexts({ rowProcess }, context, {
        concurrency: atOnce * (batch ?? 1),
        texts: { url, body },
        async work(item, texts) {
          const { row } = item;
          refuseOtherOrigin(settings, texts["url"] ?? "");
          if (isTest) {
            context.tell(`${settings.method} ${texts["url"]} would be called.`);
            return [row];
          }
          const answer =
            batch === undefined ? await send(requestOf(item, texts)) : await sendJoined(item);
          const { output } = settings;
          return [
            output === undefined || answer === undefined ? row : textWithField(row, output, answer),
          ];
        },
      });
      return undefined;
    },
  });
}

interface Outgoing {
  readonly url: string;
  readonly body: string;
  readonly isJson: boolean;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Each of which gets the answer. */
  readonly rows: number;
}

/** Resolves with the answer as JSON text, if anybody wants it. */
type Send = (outgoing: Outgoing) => Promise<string | undefined>;

function requestOf(
  { row, idempotencyKey, signal }: RowItem,
  texts: Readonly<Record<string, string>>,
): Outgoing {
  const { url = "", body } = texts;
  return {
    ...{ url, idempotencyKey, signal },
    body: body ?? row,
    isJson: body === undefined,
    rows: 1,
  };
}

function senderOf(
  {
    egress,
    chainHeaders,
    rowProcess,
    settings: limits,
  }: Pick<StepServices, "egress" | "chainHeaders" | "rowProcess" | "settings">,
  { settings, run }: StepContext<HttpRequest>,
  headers: Readonly<Record<string, string>>,
): Send {
  const { method, output } = settings;
  const hasBody = settings.body !== undefined || (method !== "GET" && method !== "DELETE");
  const { rewrite } = rowProcess;
  const readAnswer = answerReader({ maxDepth: limits.MAX_JSON_DEPTH, rewrite });
  return ({ url, body, isJson, idempotencyKey, signal, rows }) => {
    const call: AddressCall = {
      ...{ url, method, signal, timeoutMs: settings.request_timeout_seconds * 1_000 },
      headers: {
        "content-type": isJson ? "application/json" : "text/plain; charset=utf-8",
        ...headers,
        "idempotency-key": idempotencyKey,
        ...chainHeaders(url, run),
      },
      ...(hasBody && { body }),
    };
    return callAddress(egress, call, async (response) =>
      output === undefined ? undefined : readAnswer(response, { rows, signal }),
    );
  };
}

/**
 * The key of a batch names its first and last row, so that a repetition of the same rows has the same. A run that was
 * resumed within a batch sends its rest under another key.
 */
function batchSender(send: Send, { run, step, settings }: StepContext<HttpRequest>) {
  const { url, batch = 1 } = settings;
  return joinRows<RowItem, string | undefined>(batch, async (items, signal) => {
    const rows = items.map(({ row }) => row);
    const answer = await send({
      ...{ url, isJson: true, signal, rows: rows.length },
      body: `[${rows.join(",")}]`,
      idempotencyKey: `${run.id}:${step.id}:${items[0]?.number}-${items.at(-1)?.number}`,
    });
    return items.map(() => answer);
  });
}
