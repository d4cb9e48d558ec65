import { z } from "zod";
import type { Part } from "../../core/part.ts";
import type { Base } from "../../db/base.ts";
import type { Db } from "../../db/context.ts";
import { toAbortSignal } from "../../lib/cancellation.ts";
import type { Egress, EgressResponse } from "../../lib/egress/egress.ts";
import { EgressError } from "../../lib/egress/egress-error.ts";
import type { HttpRequest } from "../../lib/http/http-client.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { WEBHOOK_PAUSES_MS } from "../../queue/backoff.ts";
import type { EventTopic, Job, JobOutcome, ResultCounts } from "../../queue/topic.ts";
import { postWebhook, type WebhookResponse } from "../../queue/webhooks/post-webhook.ts";
import { workTopic } from "../../queue/work-topic.ts";
import type { ChainHeaders } from "../calls-out/call-chain.ts";
import type { WorkflowSecrets } from "../secrets.ts";

export const NOTIFY_TOPIC = "workflow_notify" satisfies EventTopic;

/** Of a response only the status, a header and the code of a loop count. */
const RESPONSE_MAX_BYTES = 64 * 1024;
/** The code by which this service refuses a chain, and nothing else with the status 409. */
const LOOP = '"workflow_loop"';
/** The address itself is wrong: another try would end the same way. */
const PERMANENT = new Set(["invalid_url", "credentials", "forbidden"]);

/** A stored message. Secrets are named, and read at each try. */
const notification = z.object({
  url: z.union([z.string(), z.object({ secret: z.string() })]),
  /** The name of the secret that signs it; null without a signature. */
  sign_with: z.string().nullable(),
  /** Whose secrets these are. */
  owner_id: z.string(),
  /** What is posted. */
  message: z.record(z.string(), z.unknown()),
  /** The run that sends it; absent in messages of earlier releases. */
  run: z.object({ workflow_id: z.string(), chain: z.array(z.string()) }).optional(),
});

export interface NotificationParts {
  readonly egress: Pick<Egress, "send">;
  readonly secrets: Pick<WorkflowSecrets, "read">;
  readonly chainHeaders: ChainHeaders;
  /** Counters of the tries. */
  readonly counts: ResultCounts;
}

/** Starts to post the messages that steps of workflows have stored, as alerts are posted, but to guarded addresses. */
export function openNotifications(
  { settings, database, clock, log }: Base,
  parts: NotificationParts,
): Part<Db> {
  const timeoutMs = settings.OUTBOX_TRY_TIMEOUT_MS;
  const worker = workTopic(
    { db: database.db, clock, log },
    {
      name: NOTIFY_TOPIC,
      pausesMs: WEBHOOK_PAUSES_MS,
      scale: settings.OUTBOX_BACKOFF_SCALE,
      counts: parts.counts,
      work: (job, { signal }) => deliver(parts, job, { clock, timeoutMs, signal }),
    },
  );
  return { close: () => worker.close() };
}

interface Try extends Pick<Base, "clock"> {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

async function deliver(
  { egress, secrets, chainHeaders }: NotificationParts,
  { id, body }: Job,
  { clock, timeoutMs, signal }: Try,
): Promise<JobOutcome> {
  const { url: named, sign_with, owner_id, message, run } = notification.parse(body);
  const read = (name: string) => secrets.read(owner_id, name);
  const url = typeof named === "string" ? named : await read(named.secret);
  if (url === undefined) return missing(typeof named === "string" ? "" : named.secret);
  const secret = sign_with === null ? undefined : await read(sign_with);
  if (sign_with !== null && secret === undefined) return missing(sign_with);
  const headers = run && chainHeaders(url, { chain: run.chain, workflowId: run.workflow_id });
  const guarded = guardedClient(egress, timeoutMs);
  const webhook = { url, secret, client: guarded, clock, timeoutMs, ...(headers && { headers }) };
  const outcome = await postWebhook(webhook, { id, body: message as JsonObject }, signal);
  if (guarded.isLoop()) {
    return {
      kind: "refused",
      error: "answered 409: the workflow would start itself (workflow_loop)",
    };
  }
  const blocked = guarded.failure();
  if (outcome.kind !== "failed" || blocked === undefined) return outcome;
  const error = `the address is not reached: ${blocked.message}`;
  return PERMANENT.has(blocked.reason) ? { kind: "refused", error } : { ...outcome, error };
}

/** A client for one request. `failure` is why the guard did not reach the address; a loop ends the same at every try. */
function guardedClient(egress: Pick<Egress, "send">, timeoutMs: number) {
  let failure: EgressError | undefined;
  let isLoop = false;
  return {
    failure: () => failure,
    isLoop: () => isLoop,
    async send({ url, headers, body, signal: cancel }: HttpRequest): Promise<WebhookResponse> {
      const signal = toAbortSignal(cancel);
      try {
        const response = await egress.send(url, {
          ...{ method: "POST", headers, signal, connectTimeoutMs: timeoutMs },
          ...(body !== undefined && { body }),
          maxBytes: RESPONSE_MAX_BYTES,
        });
        // A body that is too long or never ends is no answer of this service.
        const text = response.status === 409 ? await readText(response).catch(() => "") : "";
        isLoop = text.includes(LOOP);
        return response;
      } catch (thrown) {
        if (thrown instanceof EgressError) failure = thrown;
        throw thrown;
      }
    },
  };
}

async function readText({ body }: EgressResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function missing(name: string): JobOutcome {
  return {
    kind: "refused",
    error: `the workflow's owner has no secret '${name}': set it by PUT /api/pipeline/secrets/${name}, then redeliver the event`,
  };
}
