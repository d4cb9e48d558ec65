import type { Db } from "../../db/context.ts";
import type { EmbeddingGateway } from "../../gateway/embed.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Clock } from "../../lib/clock.ts";
import type { StepModels } from "./step-models.ts";

export interface StepModelParts {
  readonly gateway: Gateway & EmbeddingGateway;
  readonly ask: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  readonly clock: Clock;
  /** True while calls of clients are open. */
  readonly isBusy: () => boolean;
}

export function createStepModels(_parts: StepModelParts): StepModels {
  const missing = () => Promise.reject(new Error("model steps are not built yet"));
  return { chat: missing, embed: missing, fault: async () => undefined };
}
