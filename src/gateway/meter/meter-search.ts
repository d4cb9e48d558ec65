import type { LimitStatus } from "../../core/limit-status.ts";
import { admitCall } from "../admit.ts";
import { estimateEmbeddingTokens } from "../embed.ts";
import type { ClientCall, Gateway } from "../gateway.ts";
import { CallMeter, type MeteringGateway } from "./call-meter.ts";
import { meterWhole } from "./meter.ts";

interface MeteredSearch {
  /** The model that embeds the queries. */
  readonly model: string;
  readonly queries: readonly string[];
}

/**
 * Runs a search that a client has asked for, and writes its usage row as that of a call for embeddings of the queries.
 * Throws a `ServiceError`.
 */
export async function meterSearch<Result>(
  gateway: MeteringGateway & Pick<Gateway, "refusals">,
  call: ClientCall,
  { model, queries }: MeteredSearch,
  search: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly limits: LimitStatus | undefined }> {
  const inputTokens = estimateEmbeddingTokens(queries);
  const admission = await admitCall(gateway, call, { inputTokens, outputTokens: 0 });
  const meter = new CallMeter(gateway, call, admission && { admission });
  await meter.begin({ model, inputTokens });
  const usage = { inputTokens, outputTokens: 0, estimated: true };
  const result = await meterWhole(meter, search(), () => ({ usage }));
  return { result, limits: admission?.status };
}
