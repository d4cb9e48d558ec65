import { z } from "@hono/zod-openapi";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { combineAcceptances } from "../../workflows/intake/combine-acceptances.ts";
import { WEBHOOK_ROWS_MAX } from "../../workflows/intake/read-rows.ts";
import { type BodySender, receiveWebhook } from "../../workflows/intake/receive-webhook.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { readJsonBytes } from "../bodies/read-json-body.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const MAX_BYTES = 32 * 1024 * 1024;
/**
 * Bodies that are in memory at once. Those whose signature is not compared yet have a room of their own: anybody can send
 * them, and they must not take the room of senders who are known.
 */
const HELD_MAX_BYTES = { proven: 8 * MAX_BYTES, unproven: 2 * MAX_BYTES } as const;

const acceptedRun = z
  .object({
    runId: z.string(),
    status: z.enum(["queued", "running"]),
    pipelineId: z.string(),
    rowsReceived: z.number().int().openapi({ description: "Rows that the run begins with." }),
  })
  .openapi("AcceptedRun", {
    example: {
      runId: "run_0fv23v9QmTq2LxZ8cR5nYb7K",
      status: "running",
      pipelineId: "wf_3v9QmTq2LxZ8cR5nYb7KdW",
      rowsReceived: 2,
    },
  });
const rows = z
  .union([z.record(z.string(), z.unknown()), z.array(z.unknown())])
  .openapi("WebhookRows", {
    description: "One row, or a list of rows; an element that is no object becomes `{value}`.",
    example: [{ ticket: 4711, text: "The lid does not close." }],
  });

const RECEIVE = resourceRoute({
  path: "/api/pipeline/webhook/{id}",
  method: "post",
  access: "open",
  tag: "Workflows",
  operationId: "receiveWebhook",
  summary: "Start a workflow with rows",
  description:
    "`id` is a workflow's. The credential is an API key or session that may start it; or its webhook's secret, as " +
    "`Authorization: Bearer whk_…` or `x-webhook-secret`; or a signature of the body under that secret, by Standard Webhooks " +
    "(`webhook-id`, `webhook-timestamp`, `webhook-signature`; the key is the secret's text, `whsec_` and its base64 for libraries) " +
    'or `x-hub-signature-256`. A webhook with `auth: "url"` has an address `whu_…` that needs none. ' +
    `Up to 32 MiB and ${WEBHOOK_ROWS_MAX} rows. The answer comes when the run is stored; \`Location\` is where it is read. ` +
    "With `Idempotency-Key` (or `webhook-id`, which alone counts where it is signed) a repetition within 24 hours gets the same answer and `idempotency-replayed: true`.",
  body: rows,
  answer: { status: 202, description: "The run is accepted.", schema: acceptedRun },
  errors: {
    400: "The body is no JSON object or array, or nests too deeply; or the idempotency key is too long.",
    401: "The call has no credential, or an API key or session that is not valid.",
    403: "The license has expired.",
    404: "There is no such workflow for this credential, or it is disabled.",
    409:
      "Another body came with the same idempotency key (`idempotency_mismatch`), or a run makes the call that the " +
      "workflow itself led to (`workflow_loop`).",
    429: "The workflow's queue is full; `Retry-After` tells when there is probably room.",
    503: "The run could not be stored; nothing was accepted.",
  },
});

/** `POST /api/pipeline/webhook/{id}`: the address that other programs start workflows at. */
export function workflowWebhookRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const acceptances = combineAcceptances(deps.workflows);
  const rooms = { proven: new BodyRoom("proven"), unproven: new BodyRoom("unproven") };
  router.add(RECEIVE, async (context) => {
    const releases: (() => void)[] = [];
    const readBody = (sender: BodySender) => {
      const limits = { maxBytes: MAX_BYTES, isFixed: true } as const;
      if (sender === "nobody")
        return readJsonBytes(context.req.raw, { ...limits, isDropped: true });
      const { hold, release } = rooms[sender].enter();
      releases.push(release);
      return readJsonBytes(context.req.raw, { ...limits, hold, holdsArrived: true });
    };
    try {
      const answer = await receiveWebhook(deps.workflows, acceptances, {
        id: idOf(context),
        headers: context.req.raw.headers,
        readCaller: () => readCaller(deps, context),
        readBody,
      });
      const response = jsonResponse(answer.body, 202);
      response.headers.set("location", `/api/pipeline/runs/${answer.body["runId"]}`);
      if (answer.isReplayed) response.headers.set("idempotency-replayed", "true");
      return response;
    } finally {
      for (const release of releases) release();
    }
  });
  return router;
}

const KEY_OR_TOKEN = /^bearer +s[kv]-/i;

/** A key or a session by header, or the console's cookie; undefined without any of them. */
async function readCaller(
  { authenticate }: Deps,
  { env, req }: RequestContext,
): Promise<Caller | undefined> {
  const { method, headers } = req.raw;
  const credentials = { method, headers, address: env.address, now: env.arrivedAt };
  const hasKey = KEY_OR_TOKEN.test(headers.get("authorization") ?? "") || headers.has("x-api-key");
  try {
    const caller = await authenticate(hasKey ? "caller" : "session", credentials);
    env.line.caller = caller;
    return caller;
  } catch (thrown) {
    const isMissing = thrown instanceof ServiceError && thrown.code === "session_required";
    if (isMissing) return undefined;
    throw thrown;
  }
}

/** Memory for bodies, shared by the calls that read one. */
class BodyRoom {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(sender: keyof typeof HELD_MAX_BYTES) {
    this.#maxBytes = HELD_MAX_BYTES[sender];
  }

  /** `hold` takes the number of bytes that a body has by now. */
  enter() {
    let own = 0;
    const set = (bytes: number) => {
      this.#bytes += bytes - own;
      own = bytes;
    };
    return {
      hold: (bytes: number) => {
        set(bytes);
        if (this.#bytes <= this.#maxBytes) return;
        throw new ServiceError("overloaded", "Too many large bodies arrive at once; try again.", {
          retryAfterSeconds: 1,
        });
      },
      release: () => set(0),
    };
  }
}
