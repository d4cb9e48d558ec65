import { z } from "zod";
import type { EgressResponse } from "../../lib/egress/egress.ts";
import { callAddress } from "../calls-out/call-address.ts";
import { ROW_FORMATS, type RowFormat, readRows } from "../calls-out/read-rows.ts";
import { ReadingPace } from "../calls-out/reading-pace.ts";
import {
  checkRequest,
  type HeaderFields,
  MAX_BODY_BYTES,
  readHeaders,
  refuseOtherOrigin,
  requestFields,
} from "../calls-out/request-fields.ts";
import { template, textExpressions } from "../models/model-fields.ts";
import type { ParseAsked } from "../row-process/row-process.ts";
import { StepFailure } from "../runs/run.ts";
import { defineStepKind, type StepContext } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

interface FetchHttp {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: HeaderFields;
  readonly body?: string | undefined;
  readonly format: RowFormat;
  readonly delimiter: string;
  readonly rows?: string | undefined;
  readonly next?: string | undefined;
  readonly max_pages: number;
  readonly request_timeout_seconds: number;
}

const memberPath = z.string().min(1).max(500);
const schema = z.strictObject({
  ...requestFields,
  method: z.enum(["GET", "POST"]).default("GET"),
  body: template.optional().describe("The body of a POST, with {{ }}."),
  format: z
    .enum(ROW_FORMATS)
    .default("auto")
    .describe("What the address answers: `auto` is what it declares; a text is one row {text}."),
  delimiter: z.string().length(1).default(",").describe("Between the columns of CSV."),
  rows: memberPath.optional().describe("Where the rows stand in JSON: `data.items`."),
  next: memberPath
    .optional()
    .describe("Where JSON has the address of the next page, on the same host: `links.next`."),
  max_pages: z.int().min(1).max(1_000).default(100),
});

/** Pages without rows, one after another, that an address may lead through. */
const MAX_EMPTY_PAGES = 10;

/** Makes rows of what an address answers. */
export function fetchHttpStep(services: StepServices) {
  const { egress, secrets, rowProcess, chainHeaders } = services;
  return defineStepKind<FetchHttp>({
    kind: "fetch_http",
    group: "source",
    label: "Fetch an address",
    help: "Calls an address and makes rows of its JSON, NDJSON, CSV or text.",
    example: { url: "https://example.com/api/tickets", rows: "data" },
    schema,
    expressions: ({ url, body }) => textExpressions({ url, body }),
    check: (settings, { owner }) => checkRequest({ egress, secrets }, settings, owner.ownerId),
    async run(context) {
      const { settings, signal, run } = context;
      const { method, request_timeout_seconds, max_pages } = settings;
      const headers = await readHeaders(secrets, run.ownerId, settings.headers);
      const { url: first = "", body } = await render(rowProcess, context);
      refuseOtherOrigin(settings, first);
      const timeoutMs = request_timeout_seconds * 1_000;
      const readPage = pageReader(services, context);
      let url: string | undefined = first;
      let emptyPages = 0;
      for (let page = 1; url !== undefined; page += 1) {
        if (page > max_pages) throw tooManyPages(max_pages);
        const called: string = url;
        const call = {
          ...{ url: called, method, body, timeoutMs, signal },
          headers: { ...headers, ...chainHeaders(called, run) },
        };
        const { rows, next } = await callAddress(egress, call, readPage);
        url = nextPage(next, called);
        emptyPages = rows === 0 ? emptyPages + 1 : 0;
        if (url !== undefined && emptyPages === MAX_EMPTY_PAGES) throw onlyEmptyPages();
      }
      return undefined;
    },
  });
}

/** Reads the pages of one step. Returns how many rows a page has, and its link to the next. */
function pageReader(
  { settings: limits, rowProcess }: Pick<StepServices, "settings" | "rowProcess">,
  { settings, signal, output }: StepContext<FetchHttp>,
) {
  const { format, delimiter, rows: rowsPath, next } = settings;
  const writer = output();
  const wanted = {
    ...{ format, delimiter, path: rowsPath?.split(".") ?? [], next: next?.split(".") },
    parse: (text: string, asked: ParseAsked) => rowProcess.parse(text, asked, signal),
    maxDepth: limits.MAX_JSON_DEPTH,
    pace: new ReadingPace(signal, Math.max(limits.WORKFLOW_MAX_BYTES, MAX_BODY_BYTES)),
  };
  return async (response: EgressResponse) => {
    let rows = 0;
    const link = await readRows(response, wanted, {
      push(row) {
        rows += 1;
        return writer.push(row);
      },
      chunk(chunk) {
        rows += chunk.rows;
        return writer.chunk(chunk);
      },
    });
    return { rows, next: link };
  };
}

/** The address knows no rows: its `{{ }}` see `trigger` and `run`. */
async function render(
  rowProcess: StepServices["rowProcess"],
  { settings: { url, body }, scope, signal }: StepContext<FetchHttp>,
): Promise<Readonly<Record<string, string>>> {
  const texts = { url, ...(body !== undefined && { body }) };
  if (!Object.values(texts).some((text) => text.includes("{{"))) return texts;
  const templates = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, { kind: "text", text } as const]),
  );
  const [rendered] = await rowProcess.evaluate(templates, [{}], scope, signal);
  if (rendered === undefined || "error" in rendered) {
    const { code = "expression", message = "The address cannot be rendered." } =
      rendered?.error ?? {};
    throw new StepFailure(code, message);
  }
  return rendered.values as Readonly<Record<string, string>>;
}

/** Secrets in headers were meant for the first host. */
function nextPage(link: unknown, from: string): string | undefined {
  if (typeof link !== "string" || link === "") return undefined;
  const next = URL.canParse(link, from) ? new URL(link, from) : undefined;
  if (next !== undefined && next.origin === new URL(from).origin) return next.href;
  throw new StepFailure("next_page", "The link to the next page is no address of the same host.");
}

function onlyEmptyPages(): StepFailure {
  return new StepFailure(
    "empty_pages",
    `${MAX_EMPTY_PAGES} pages after one another had no rows, and the last one leads to a further page.`,
  );
}

function tooManyPages(pages: number): StepFailure {
  return new StepFailure(
    "too_many_pages",
    `There are more than ${pages} pages. Raise 'max_pages'.`,
  );
}
