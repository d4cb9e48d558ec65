import { createHash, randomBytes } from "node:crypto";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { readCallChain } from "../calls-out/call-chain.ts";
import { type Acceptance, answerOf } from "../runs/accept/acceptance.ts";
import { mayStart } from "../runs/accept/may-start.ts";
import { readQueueWait } from "../runs/accept/queue-wait.ts";
import { loopError } from "../runs/control/start-run.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import type { Acceptances } from "./combine-acceptances.ts";
import { readRows } from "./read-rows.ts";
import {
  isHubSignature,
  isSecret,
  isStandardSignature,
  readCredential,
  type WebhookCredential,
} from "./webhook-credential.ts";
import { allowsLoop, findTarget, isUrlId, type WebhookTarget } from "./webhook-target.ts";

/** An idempotency key has up to this many printable characters. */
const KEY = /^[\x20-\x7e]{1,255}$/;
/** A secret for an unknown address is compared too, so that it takes as long as a known one. */
const NOBODYS_SECRET = randomBytes(32).toString("hex");

/**
 * Whose body it is: of a sender who may start the workflow; of one who says so by a signature, which only the body
 * proves; or of one who cannot, whatever it is. The last is read for its faults alone and comes back empty.
 */
export type BodySender = "proven" | "unproven" | "nobody";

export interface WebhookCall {
  /** From the path: `wf_…` or `whu_…`. */
  readonly id: string;
  readonly headers: Headers;
  /** Authenticates by an API key or a session; undefined when there is none. Rejects for one that is not valid. */
  readonly readCaller: () => Promise<Caller | undefined>;
  /** Reads a JSON body as it arrived. */
  readonly readBody: (sender: BodySender) => Promise<Uint8Array>;
}

/** The answer to an accepted call. */
export interface WebhookAnswer {
  /** `{runId, status, pipelineId, rowsReceived}`. */
  readonly body: JsonObject;
  /** The same call came before. */
  readonly isReplayed: boolean;
}

type Proof =
  | WebhookCredential
  | { readonly kind: "url" }
  | { readonly kind: "caller"; readonly caller: Caller };

type SignedProof = Extract<Proof, { readonly kind: "standard" | "hub" }>;

/**
 * Accepts a run for a call of a webhook; resolves after its commit. Rejects with a `ServiceError`: without a credential
 * always 401; an unknown, disabled or foreign workflow is one 404.
 */
export async function receiveWebhook(
  store: WorkflowStore,
  { accept }: Acceptances,
  call: WebhookCall,
): Promise<WebhookAnswer> {
  const proof = await readProof(call);
  const target = await findTarget(store, call.id);
  // Only a signature needs the body; nobody else's is read before it is known that it is wanted.
  if (!isSigned(proof) && !isProven(proof, target)) throw unknownWorkflow();
  if (!isSigned(proof) && !target?.enabled) throw unknownWorkflow();
  const body = isSigned(proof)
    ? await readSignedBody(store, call, { proof, target })
    : await call.readBody("proven");
  if (!target?.enabled) throw unknownWorkflow();
  const key = readKey(call.headers, proof);
  const received = await readRows(body, store.settings.MAX_JSON_DEPTH);
  const bodyHash = createHash("sha256").update(body).digest("hex");
  const { workflowId } = target;
  const chain = readCallChain(store.secretBox, call.headers, call.id);
  const acceptance = await accept(workflowId, {
    trigger: { kind: "webhook", auth: proof.kind === "caller" ? proof.caller.kind : proof.kind },
    triggerKey: "webhook",
    rows: received.chunks,
    chain,
    allowLoop: chain.includes(workflowId) && (await allowsLoop(store, workflowId)),
    fact: key === undefined ? undefined : { fact: key, bodyHash },
  });
  return answerTo(store, workflowId, { acceptance, bodyHash });
}

async function readProof({ id, headers, readCaller }: WebhookCall): Promise<Proof> {
  if (isUrlId(id)) return { kind: "url" };
  const credential = readCredential(headers);
  if (credential !== undefined) return credential;
  const caller = await readCaller();
  if (caller !== undefined) return { kind: "caller", caller };
  throw new ServiceError(
    "invalid_api_key",
    "No credential came with the call. Send the webhook's secret as `Authorization: Bearer whk_…` or `x-webhook-secret`, " +
      "sign the body with it (`webhook-signature` or `x-hub-signature-256`), or send an API key.",
  );
}

/** Rejects as for an unknown workflow unless the body has the signature that came with it. */
async function readSignedBody(
  { clock }: Pick<WorkflowStore, "clock">,
  { readBody }: WebhookCall,
  { proof, target }: { readonly proof: SignedProof; readonly target: WebhookTarget | undefined },
): Promise<Uint8Array> {
  const secret = target?.enabled ? target.secret : undefined;
  if (secret === undefined) {
    // A body that is at fault gets the same answer at every address.
    await readBody("nobody");
    throw unknownWorkflow();
  }
  const body = await readBody("unproven");
  if (isSignature(proof, { secret, body, now: clock.now() })) return body;
  throw unknownWorkflow();
}

function isSigned(proof: Proof): proof is SignedProof {
  return proof.kind === "standard" || proof.kind === "hub";
}

function isProven(proof: Proof, target: WebhookTarget | undefined): boolean {
  if (proof.kind === "secret") return isSecret(proof.secret, target?.secret ?? NOBODYS_SECRET);
  if (target === undefined) return false;
  return proof.kind === "caller" ? mayStart(target, proof.caller) : proof.kind === "url";
}

function isSignature(
  proof: SignedProof,
  signed: Parameters<typeof isStandardSignature>[1],
): boolean {
  return proof.kind === "standard"
    ? isStandardSignature(proof, signed)
    : isHubSignature(proof.signature, signed);
}

/**
 * What makes a call the same as an earlier one; undefined when the sender does not say. Where `webhook-id` is signed it is
 * the only key: whoever repeats a call that was overheard could give it another `Idempotency-Key`.
 */
function readKey(headers: Headers, { kind }: Proof): string | undefined {
  const names = kind === "standard" ? ["webhook-id"] : ["idempotency-key", "webhook-id"];
  for (const name of names) {
    const key = headers.get(name);
    if (key === null) continue;
    if (KEY.test(key)) return key;
    throw new ServiceError(
      "invalid_value",
      `The header ${name} is invalid: expected 1 to 255 printable ASCII characters.`,
      { param: name },
    );
  }
  return undefined;
}

async function answerTo(
  store: WorkflowStore,
  workflowId: string,
  { acceptance, bodyHash }: { readonly acceptance: Acceptance; readonly bodyHash: string },
): Promise<WebhookAnswer> {
  switch (acceptance.kind) {
    case "accepted":
    case "joined":
      return { body: answerOf(workflowId, acceptance), isReplayed: false };
    case "repeated":
      if (acceptance.bodyHash === bodyHash && acceptance.answer !== null) {
        return { body: acceptance.answer, isReplayed: true };
      }
      throw new ServiceError(
        "idempotency_mismatch",
        "Another body came with this idempotency key within the last 24 hours. Send each body under a key of its own.",
      );
    case "unavailable":
      throw unknownWorkflow();
    case "discarded":
      throw await refusalOf(store, workflowId, acceptance);
  }
}

async function refusalOf(
  store: WorkflowStore,
  workflowId: string,
  { reason }: Extract<Acceptance, { readonly kind: "discarded" }>,
): Promise<ServiceError> {
  if (reason === "license") {
    return new ServiceError("license_expired", "No license is in force: nothing starts.");
  }
  if (reason === "loop") return loopError();
  if (reason !== "queue_full") return unknownWorkflow();
  const waiting = store.settings.PIPELINE_MAX_QUEUED_RUNS;
  return new ServiceError(
    "queue_full",
    `One run of this workflow is active and ${waiting} wait, which is all that may (PIPELINE_MAX_QUEUED_RUNS). Nothing was accepted; send the call again later.`,
    { retryAfterSeconds: await readQueueWait(store, workflowId) },
  );
}

function unknownWorkflow(): ServiceError {
  return new ServiceError("not_found", "There is no such webhook for this credential.");
}
