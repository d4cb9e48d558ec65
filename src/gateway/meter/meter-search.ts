import type { LimitStatus } from "../../core/limit-status.ts";
import { admitCall } from "../admit.ts";
import { boundEmbeddingTokens, estimateEmbeddingTokens, reservationOf } from "../embed.ts";
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
 * Limits are charged what the engine counts, if that is more than the row's estimate. Throws a `ServiceError`.
 *
 * @param search calls its argument with the tokens of each text that it has embedded.
 */
export async function meterSearch<Result>(
  gateway: MeteringGateway & Pick<Gateway, "refusals">,
  call: ClientCall,
  { model, queries }: MeteredSearch,
  search: (onEmbedded: (tokens: number) => void) => Promise<Result>,
): Promise<{ readonly result: Result; readonly limits: LimitStatus | undefined }> {
  const inputTokens = estimateEmbeddingTokens(queries);
  const reservation = reservationOf(inputTokens, boundEmbeddingTokens(queries));
  const admission = await admitCall(gateway, call, reservation);
  const meter = new CallMeter(gateway, call, admission && { admission });
  await meter.begin({ model, inputTokens });
  const usage = { inputTokens, outputTokens: 0, estimated: true };
  let counted = 0;
  const searching = search((tokens) => {
    counted += tokens;
  });
  const result = await meterWhole(meter, searching, () => ({
    usage,
    charge: Math.max(inputTokens, counted),
  }));
  return { result, limits: admission?.status };
}
