import type { EmbeddingInput } from "../../core/embedding.ts";
import { estimateTokens } from "../../core/estimate-tokens.ts";
import type { LimitStatus } from "../../core/limit-status.ts";
import { errorWithUsage, toServiceError } from "../../core/service-error.ts";
import { admitCall } from "../admit.ts";
import type { ClientCall, Gateway } from "../gateway.ts";
import { CallMeter, type MeteringGateway } from "./call-meter.ts";
import { meterWhole } from "./meter.ts";

/** What a tokenizer adds to a text: its beginning, its end and an instruction's place. */
const MARK_TOKENS = 4;

interface MeteredEmbedding {
  /** The model that embeds the inputs. */
  readonly model: string;
  readonly inputs: readonly EmbeddingInput[];
}

interface Metered<Result> {
  readonly result: Result;
  /** The estimate, as the usage row has it. */
  readonly inputTokens: number;
  /** The remaining limits of the caller's key; undefined when it has no limits. */
  readonly limits: LimitStatus | undefined;
}

/**
 * Does work that embeds inputs for a client, such as a search, and writes its usage row, which always has the estimate,
 * even when the engine reports a figure. Limits are charged the larger of the two. What fails after the engine's answer
 * is charged the engine's figure, else the estimate. Throws a `ServiceError`.
 *
 * @param work calls its argument with the tokens of what it has embedded, 0 where the engine does not count them.
 */
export async function meterEmbedding<Result>(
  gateway: MeteringGateway & Pick<Gateway, "refusals">,
  call: ClientCall,
  { model, inputs }: MeteredEmbedding,
  work: (onEmbedded: (tokens: number) => void) => Promise<Result>,
): Promise<Metered<Result>> {
  const inputTokens = estimateInputs(inputs);
  const admission = await admitCall(gateway, call, reservationOf(inputTokens, inputs));
  const meter = new CallMeter(gateway, call, admission && { admission });
  await meter.begin({ model, inputTokens });
  let counted: number | undefined;
  const working = work((tokens) => {
    counted = tokens + (counted ?? 0);
  }).catch((thrown: unknown) => {
    if (counted === undefined) throw thrown;
    // The engine has worked, although what came after it failed.
    const error = toServiceError(thrown);
    const inputTokens = counted + (error.usage?.inputTokens ?? 0);
    throw errorWithUsage(error, { inputTokens, outputTokens: 0 });
  });
  const result = await meterWhole(meter, working, () => ({
    usage: { inputTokens, outputTokens: 0, estimated: true },
    charge: Math.max(inputTokens, counted ?? 0),
  }));
  return { result, inputTokens, limits: admission?.status };
}

/**
 * The estimate must remain. Because it is too low for most scripts other than Latin, the bound is reserved as far as
 * tokens remain, so that calls at the same time cannot exceed a limit. One call may, close to exhaustion.
 */
function reservationOf(
  estimate: number,
  inputs: readonly EmbeddingInput[],
): { readonly inputTokens: number; readonly outputTokens: number } {
  const certain = Math.max(0, estimate - 1);
  return { inputTokens: certain, outputTokens: boundEmbeddingTokens(inputs) - certain };
}

/** The most tokens that an engine may count: no tokenizer makes more of a text than it has bytes, beside its marks. */
export function boundEmbeddingTokens(inputs: readonly EmbeddingInput[]): number {
  return inputs.reduce(
    (sum, input) =>
      sum + (typeof input === "string" ? Buffer.byteLength(input) : input.length) + MARK_TOKENS,
    0,
  );
}

/** Estimates the tokens of texts by their characters; inputs that are tokens are counted. */
function estimateInputs(inputs: readonly EmbeddingInput[]): number {
  let characters = 0;
  let tokens = 0;
  for (const input of inputs) {
    if (typeof input === "string") characters += input.length;
    else tokens += input.length;
  }
  return tokens + estimateTokens(characters);
}
