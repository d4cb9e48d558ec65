import { markSeal } from "../../../core/seal.ts";

/** The seal on thoughts that no vendor sealed. It seals nothing: clients drop thoughts that have none. */
export function ownSeal(requestId: string): string {
  return markSeal("gateway", requestId);
}
