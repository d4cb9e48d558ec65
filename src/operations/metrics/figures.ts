import { type CallFigures, createCallFigures } from "../../gateway/call-figures.ts";
import type { Clock } from "../../lib/clock.ts";
import { createDeliveryFigures, type DeliveryFigures } from "../../queue/figures.ts";
import { createJobFigures, type JobFigures } from "./job-figures.ts";
import { createRefusalFigures, type RefusalFigures } from "./refusal-figures.ts";
import { createRequestFigures, type RequestFigures } from "./request-figures.ts";

/** What is counted in this process while it works. Each part is handed its own, and adds to it. */
export interface Figures {
  readonly calls: CallFigures;
  readonly deliveries: DeliveryFigures;
  readonly jobs: JobFigures;
  readonly refusals: RefusalFigures;
  readonly requests: RequestFigures;
}

export function createFigures(clock: Clock): Figures {
  return {
    calls: createCallFigures(),
    deliveries: createDeliveryFigures(),
    jobs: createJobFigures(clock),
    refusals: createRefusalFigures(),
    requests: createRequestFigures(),
  };
}
