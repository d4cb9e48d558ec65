import { datasetList } from "./built-in/datasets.ts";
import { keys } from "./built-in/keys.ts";
import { refusals } from "./built-in/refusals.ts";
import { requests } from "./built-in/requests.ts";
import { runSteps } from "./built-in/run-steps.ts";
import { runs } from "./built-in/runs.ts";
import { usageByDay } from "./built-in/usage-by-day.ts";
import { usageByHour } from "./built-in/usage-by-hour.ts";
import { users } from "./built-in/users.ts";
import { workflows } from "./built-in/workflows.ts";
import type { BuiltInView } from "./data-view.ts";

/**
 * Every built-in view, in the order in which they are listed. Columns are only ever added, at the end: readers name
 * them, and a view that lost one would have to be dropped under them.
 */
export const BUILT_IN_VIEWS: readonly BuiltInView[] = [
  requests,
  usageByHour,
  usageByDay,
  refusals,
  keys,
  users,
  workflows,
  runs,
  runSteps,
  datasetList,
];

/** Raised with each change of a built-in view: of several replicas, the newest release decides what they are. */
export const VIEWS_REVISION = 2;
