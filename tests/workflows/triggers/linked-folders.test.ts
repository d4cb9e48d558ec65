import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import type { InternalEvent } from "../../../src/queue/subscriptions.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { writeFileStep } from "../../../src/workflows/steps/write-file.ts";
import { openTriggerStage, type TriggerStage } from "../../support/stages/trigger-stage.ts";
import { plainRowProcess } from "../../support/workflows/plain-row-process.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

const data = mkdtempSync(join(tmpdir(), "linked-folders-"));
/** Its parent is a link. */
const workspace = join(data, "link", "workspace");
const fileConnections = openFileConnections({
  WORKSPACE_DIR: workspace,
  WATCH_DIRS: [workspace],
  DATA_DIR: join(data, "service"),
});
let stage: TriggerStage;

beforeAll(async () => {
  mkdirSync(join(data, "disk", "workspace"), { recursive: true });
  symlinkSync(join(data, "disk"), join(data, "link"));
  stage = await openTriggerStage();
  stage.folders.push(...fileConnections.list());
});
afterAll(async () => {
  await stage?.close();
  rmSync(data, { recursive: true, force: true });
});

/** What the watch of the folder says about a file that is there. */
async function arrivalOf(path: string): Promise<InternalEvent> {
  const { size, mtime } = await stat(join(workspace, path));
  const name = path.split("/").at(-1) ?? "";
  const file = { folder: workspace, path, name, size, modified_at: mtime.toISOString() };
  return {
    kind: "file.uploaded",
    body: { ...file, source: "watched_folder", change: "created" },
  };
}

test("a file that a run writes into a folder behind a link does not start its workflow again", async () => {
  const triggers = [{ kind: "file", path: "**" }];
  const [writer, other] = [
    await stage.addWorkflow({ triggers, owner: "admin" }),
    await stage.addWorkflow({ triggers, owner: "admin" }),
  ];
  const services = { database: stage.database, rowProcess: plainRowProcess, fileConnections };
  await runStep(writeFileStep(services as unknown as StepServices), {
    settings: { path: "out/a.csv" },
    rows: [{ a: 1 }],
    run: { id: "run_1", workflowId: writer, chain: [] },
  });
  await stage.fire(await arrivalOf("out/a.csv"));
  expect(await stage.runs(writer)).toEqual([]);
  expect(await stage.discarded(writer)).toEqual({ loop: 1 });
  expect((await stage.runs(other)).map(({ chain }) => chain)).toEqual([[writer]]);
});
