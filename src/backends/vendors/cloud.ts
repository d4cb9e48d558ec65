import type { Model } from "../backend.ts";
import { isChatModelName } from "../models/model-traits.ts";
import { type Cloud, traitsOf } from "../models/trait-table.ts";
import type { ReplayMemory } from "../replay/replay-memory.ts";
import type { Upstream } from "../upstream/upstream.ts";

/** A vendor's service as the operator has configured it. */
export interface CloudSetup {
  readonly upstream: Upstream;
  /** The models to offer, by the vendor's names. */
  readonly models: readonly string[];
  /** Parameters without a row in the table that are still sent, by their chat-completions names. */
  readonly forward: readonly string[];
  readonly memory: ReplayMemory;
}

/** Lists the chat models that the settings name for a cloud. */
export function cloudModels(
  cloud: Cloud,
  { models, forward }: Pick<CloudSetup, "models" | "forward">,
): readonly Model[] {
  return [...new Set(models)].filter(isChatModelName).map((id) => ({
    id,
    backend: cloud,
    created: 0,
    ownedBy: cloud,
    structuredOutputs: forward.includes("response_format"),
    ...traitsOf(cloud, id),
  }));
}
