import type { SecretBox } from "../../lib/secret-box.ts";
import type { ClaimedRun } from "../runs/run.ts";

/**
 * The chain of a run across a call to an address that starts runs of this installation: a workflow that calls its own
 * webhook, directly or through another workflow, is a loop like any other. The header is sealed for the id in the
 * address: nobody else can write it, and a receiver elsewhere learns nothing from it.
 */

/** Returns the headers for a call of a run; none for an address that starts no runs. */
export type ChainHeaders = (
  url: string,
  run: Pick<ClaimedRun, "chain" | "workflowId">,
) => Readonly<Record<string, string>>;

const HEADER = "x-workflow-chain";
/** A proxy may serve the gateway below a path of its own. */
const STARTING_PATH =
  /\/api\/pipeline\/(?:webhook\/(w(?:f|hu)_[0-9A-Za-z]{1,64})|workflows\/(wf_[0-9A-Za-z]{1,64})\/runs)\/?$/;
/** Proxies bound the headers of a request, often to 8 KiB. Of a longer chain the workflows that ran last are sent. */
const SENT_MAX = 100;

export function createChainHeaders(secretBox: Pick<SecretBox, "seal">): ChainHeaders {
  return (url, { chain, workflowId }) => {
    const id = startedBy(url);
    if (id === undefined) return {};
    const sent = [...chain, workflowId].slice(-SENT_MAX);
    return { [HEADER]: secretBox.seal(sent.join(" "), placeOf(id)) };
  };
}

/**
 * Returns the workflows that led to a call, the first one first; empty for a call that no run made.
 * @param id as in the address.
 */
export function readCallChain(
  secretBox: Pick<SecretBox, "open">,
  headers: Headers,
  id: string,
): readonly string[] {
  const sealed = headers.get(HEADER);
  const chain = sealed === null ? undefined : secretBox.open(sealed, placeOf(id));
  return chain === undefined ? [] : chain.split(" ");
}

/** Returns the id of the workflow or webhook whose runs a call of this address starts; undefined for any other. */
function startedBy(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const [, webhook, workflow] = STARTING_PATH.exec(new URL(url).pathname) ?? [];
  return webhook ?? workflow;
}

function placeOf(id: string): string {
  return `chain to ${id}`;
}
