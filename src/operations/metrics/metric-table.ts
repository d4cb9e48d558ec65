import { ENGINE_METRICS } from "./engine-metrics.ts";
import { GATEWAY_METRICS } from "./gateway-metrics.ts";
import type { Metric } from "./metric.ts";
import { OPERATION_METRICS } from "./operation-metrics.ts";
import { PROCESS_METRICS } from "./process-metrics.ts";
import { STORE_METRICS } from "./store-metrics.ts";

/** Every metric that is served, in the order in which it is shown. */
export const METRICS: readonly Metric[] = [
  ...PROCESS_METRICS,
  ...GATEWAY_METRICS,
  ...ENGINE_METRICS,
  ...STORE_METRICS,
  ...OPERATION_METRICS,
];
