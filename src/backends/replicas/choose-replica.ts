import { mixBits } from "./hash-text.ts";
import type { Replica } from "./replica.ts";

/** A replica may have this multiple of the average load before its conversations go to another replica. */
const LOAD_FACTOR = 1.5;

/**
 * Returns the replicas a call may go to: the working ones among those that have its model. If no replica has the model,
 * or none works, all remain candidates, because a try may still succeed.
 */
export function findCandidates(replicas: readonly Replica[], model: string | undefined): Replica[] {
  const serving = replicas.filter(({ models }) => mayServe(models, model));
  const known = serving.length > 0 ? serving : replicas;
  const working = known.filter(({ breaker }) => breaker.takesCall);
  return working.length > 0 ? working : [...known];
}

function mayServe(models: ReadonlySet<string> | undefined, model: string | undefined): boolean {
  return models === undefined || model === undefined || models.has(model);
}

/**
 * Returns the replica for a conversation by rendezvous hashing: the highest score of its key and the replica's seed
 * wins. Adding or removing a replica therefore moves only that replica's share. A replica with more calls than its
 * share and than `spillAbove` is skipped for the next best. Undefined when there is no candidate.
 */
export function chooseByKey(
  candidates: readonly Replica[],
  key: number,
  spillAbove: number,
): Replica | undefined {
  let openCalls = 1;
  for (const replica of candidates) openCalls += replica.openCalls;
  const share = Math.ceil((LOAD_FACTOR * openCalls) / candidates.length);
  const room = Math.max(spillAbove, share);
  let best: Replica | undefined;
  let bestScore = -1;
  for (const replica of candidates) {
    const score = mixBits(key ^ replica.seed);
    if (replica.openCalls >= room || score <= bestScore) continue;
    best = replica;
    bestScore = score;
  }
  return best;
}

/** Returns the replica with the fewest open calls; of equal ones the first from `start` on. */
export function chooseByLoad(candidates: readonly Replica[], start: number): Replica | undefined {
  let best: Replica | undefined;
  for (let step = 0; step < candidates.length; step++) {
    const replica = candidates[(start + step) % candidates.length];
    if (replica !== undefined && (best === undefined || replica.openCalls < best.openCalls)) {
      best = replica;
    }
  }
  return best;
}
