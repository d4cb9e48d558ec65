import type { UsageEntry } from "../usage/usage-record.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import type { Grant } from "./grant.ts";
import type { MeteredCall } from "./meter.ts";

/** What metering stands on. */
export type MeteringGateway = Pick<Gateway, "journal" | "clock" | "limits" | "figures">;

/** What a call is metered by. The model may come to be known only while the call runs. */
interface Measured {
  readonly model: string;
  /** Estimate of the prompt's tokens. */
  readonly inputTokens: number;
}

/** The console's own chat: nothing is written. */
const UNMETERED: UsageEntry = {
  progress: () => undefined,
  close: () => undefined,
};

/**
 * Writes down that a call begins, before its upstream call, and takes over to settle it: whichever way the call ends,
 * its limits are told what its usage row tells. Rejects with `storage_unavailable`; then nothing was used.
 *
 * @param grant of a call that was admitted.
 */
export async function openMetered(
  gateway: MeteringGateway,
  call: ClientCall,
  measured: Measured,
  grant?: Grant,
): Promise<MeteredCall> {
  const { requestId: id, caller, channel, startedAt, signal, observer } = call;
  const reserved = grant?.reserved;
  const inputTokens = Math.min(measured.inputTokens, reserved?.inputTokens ?? Infinity);
  const keyId = caller.kind === "key" ? caller.keyId : "";
  const start = {
    id,
    keyId,
    channel,
    get model() {
      return measured.model;
    },
    startedAt,
    inputTokens,
  };
  const settle = settlement(gateway, call, grant);
  try {
    const isMetered = caller.kind === "key";
    const entry = isMetered ? await gateway.journal.open(start) : UNMETERED;
    const count = isMetered ? gateway.figures?.count : undefined;
    observer?.meterBegan();
    return { start, entry, clock: gateway.clock, signal, settle, count, observer, reserved };
  } catch (thrown) {
    grant?.admission.settle(0);
    throw thrown;
  }
}

/** What a key without limits uses is counted for limits that it may get. */
function settlement(
  { limits }: MeteringGateway,
  { caller, startedAt }: ClientCall,
  grant: Grant | undefined,
): MeteredCall["settle"] {
  if (grant !== undefined) return (tokens) => grant.admission.settle(tokens);
  if (caller.kind === "key") return (tokens) => limits.book(caller.keyId, startedAt, tokens);
  return () => undefined;
}
