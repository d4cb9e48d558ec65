import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take long or wait long, slowest first, by parts of their paths. They start first: one that is left to the
 * end runs alone while the other workers have nothing to do. A fresh clone knows no durations of earlier runs.
 */
const SLOW = [
  "reliability/operation/watched-folders",
  "knowledge/readers/hostile-files",
  "reliability/store/migration-kills",
  "docs/lines-to-paste",
  "knowledge/ingest/follow-folder",
  "queue/watched-folders/watched-folders-restart",
  "reliability/access/license",
  "reliability/operation/alerts",
  "operations/backup/backup-directions",
  "operations/tracing/tracing",
  "scripts/backup",
  "operations/alerts/budget-alert-calls",
  "reliability/operation/replicas-start",
  "reliability/operation/outbox",
  "reliability/clients/slow-clients",
  "reliability/clients/upstream-refusals",
  "backends/replicas/lost-replica",
  "reliability/operation/drain",
  "reliability/store/storage",
  "reliability/store/ingestion-kills",
  "operations/backup/backup-files",
  "db/open-db",
  "operations/alerts/alert-check",
  "usage/journal/",
  "usage/sums/reconcile-usage",
  "usage/reports/read-usage-report",
  "backends/replicas/prefix-cache-hits",
  "reliability/",
  "operations/",
  "lib/worker/open-workers",
  "knowledge/",
  "app/",
];

/** Starts the slow files first, and the others, within their project, in Vitest's own order. */
// biome-ignore lint/style/noDefaultExport: the sequencer has one thing to export
export default class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    const placeOf = ({ project, moduleId }: TestSpecification) => {
      const found = SLOW.findIndex((part) => moduleId.includes(`/tests/${part}`));
      return projects.indexOf(project.name) * SLOW.length * 2 + (found < 0 ? SLOW.length : found);
    };
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
