import type { Target } from "../backends/models/model-catalog.ts";
import type { ChatRun } from "./chat-run.ts";

/** A client may name any number of models, and each of them costs a call. */
const MAX_FALLBACKS = 8;

/**
 * The models to try after the first one, each once. Names that are not listed are passed over: the default model is no
 * substitute for them.
 */
export function furtherTargets({
  gateway,
  request,
  target: first,
}: Pick<ChatRun, "gateway" | "request" | "target">): readonly Target[] {
  const names = request.fallbacks ?? gateway.fallbacks ?? [];
  const targets = new Map<string, Target>();
  for (const name of names.slice(0, MAX_FALLBACKS)) {
    const target = gateway.models.find(name);
    if (target !== undefined) targets.set(target.model.id, target);
  }
  targets.delete(first.model.id);
  return [...targets.values()];
}
