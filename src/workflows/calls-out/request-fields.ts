import { z } from "zod";
import type { Egress } from "../../lib/egress/egress.ts";
import { EgressError } from "../../lib/egress/egress-error.ts";
import { StepFailure } from "../runs/run.ts";
import type { WorkflowSecrets } from "../secrets.ts";
import type { FieldFault } from "../steps/step-kind.ts";

const MAX_HEADERS = 50;
const MAX_HEADER_VALUE = 8_192;
const CHECK_TIMEOUT_MS = 5_000;
const WHOLE_ORIGIN =
  "With a secret in the headers, scheme, host and port stand whole before the first {{ }}, with a / behind them: `https://api.example.com/{{ … }}`.";
/** Faults of an address that no network changes. */
const LASTING: ReadonlySet<string> = new Set(["invalid_url", "credentials", "forbidden"]);

export const MAX_BODY_BYTES = 16 * 1024 * 1024;

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, "the name of a header");
const headerValue = z.union([
  z.string().max(MAX_HEADER_VALUE),
  z.strictObject({ secret: z.string().min(1).max(100) }),
]);

/** A text, or the name of a secret of the workflow's owner. */
export type HeaderFields = Readonly<Record<string, string | { readonly secret: string }>>;

/** The fields of every kind that calls an address. */
export const requestFields = {
  url: z.string().min(1).max(8_192).describe("An http or https address, with {{ }}."),
  headers: z
    .record(headerName, headerValue)
    .default({})
    .describe('Headers by name; `{"secret": name}` stands for a stored secret.'),
  request_timeout_seconds: z
    .int()
    .min(1)
    .max(600)
    .default(60)
    .describe("For one request with its whole answer."),
};

/** Returns the headers as they are sent. Rejects with a `StepFailure` for a secret that is gone. */
export async function readHeaders(
  secrets: Pick<WorkflowSecrets, "read">,
  ownerId: string | null,
  fields: HeaderFields,
): Promise<Readonly<Record<string, string>>> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    headers[name.toLowerCase()] =
      typeof value === "string" ? value : await readSecret(secrets, ownerId, value.secret);
  }
  return headers;
}

async function readSecret(
  secrets: Pick<WorkflowSecrets, "read">,
  ownerId: string | null,
  name: string,
): Promise<string> {
  const value = ownerId === null ? undefined : await secrets.read(ownerId, name);
  if (value !== undefined) return value;
  throw new StepFailure(
    "secret_not_found",
    `There is no secret '${name}' of the workflow's owner. Store it with PUT /api/pipeline/secrets/${name}.`,
  );
}

/**
 * Throws a `StepFailure` for an address whose `{{ }}` moved it to another server than the one that was saved, where the
 * headers have a secret for that one.
 */
export function refuseOtherOrigin(
  { url, headers }: { readonly url: string; readonly headers: HeaderFields },
  rendered: string,
): void {
  if (!hasSecret(headers)) return;
  const origin = originOf(fixedOrigin(url));
  if (origin !== undefined && originOf(rendered) === origin) return;
  throw new StepFailure("address_moved", `The address is refused: ${WHOLE_ORIGIN}`);
}

function hasSecret(headers: HeaderFields): boolean {
  return Object.values(headers).some((value) => typeof value !== "string");
}

/** Scheme, host and port as they stand before the first `{{`; undefined where a row could continue or replace them. */
function fixedOrigin(url: string): string | undefined {
  const beginning = url.split("{{", 1)[0] ?? "";
  // A backslash ends the host, too, so that the host of the text would not be the one that is called.
  const [origin] = /^https?:\/\/[^/?#{\\]+(?=[/?#])/i.exec(beginning) ?? [];
  return beginning === url ? url : origin;
}

function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Returns what is wrong with the address and headers of a step. */
export async function checkRequest(
  { egress, secrets }: { readonly egress: Egress; readonly secrets: WorkflowSecrets },
  { url, headers }: { readonly url: string; readonly headers: HeaderFields },
  ownerId: string,
): Promise<readonly FieldFault[]> {
  const faults: FieldFault[] = [...(await addressFaults(egress, url))];
  if (hasSecret(headers) && fixedOrigin(url) === undefined) {
    faults.push({ field: "url", message: WHOLE_ORIGIN });
  }
  if (Object.keys(headers).length > MAX_HEADERS) {
    faults.push({ field: "headers", message: `At most ${MAX_HEADERS} headers are sent.` });
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === "string" || (await secrets.exists(ownerId, value.secret))) continue;
    const message = `There is no secret '${value.secret}'. Store it with PUT /api/pipeline/secrets/${value.secret}.`;
    faults.push({ field: `headers.${name}`, message });
  }
  return faults;
}

/** A host that only its rows know is checked when it is called. */
async function addressFaults(egress: Egress, url: string): Promise<readonly FieldFault[]> {
  const known = fixedOrigin(url);
  if (known === undefined) return [];
  try {
    await egress.check(known, AbortSignal.timeout(CHECK_TIMEOUT_MS));
    return [];
  } catch (thrown) {
    if (!(thrown instanceof EgressError) || !LASTING.has(thrown.reason)) return [];
    return [{ field: "url", message: `The address cannot be called: ${thrown.message}.` }];
  }
}
