import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { datasets } from "../../../src/db/tables/datasets.ts";
import { vectorStores } from "../../../src/db/tables/knowledge.ts";
import type { Trigger } from "../../../src/workflows/definition/definition.ts";
import { checkTriggers } from "../../../src/workflows/triggers/check-triggers.ts";
import { openTriggerStage, START, type TriggerStage } from "../../support/stages/trigger-stage.ts";

const base = { coalesce: false, allow_loop: false };
const FOLDERS = [
  { name: "inbox", folder: "/data/inbox", isWatched: true },
  { name: "workspace", folder: "/data/workspace", isWatched: false },
];

let stage: TriggerStage;
let mine: string;
let foreign: string;

beforeAll(async () => {
  stage = await openTriggerStage();
  const { db } = stage.database;
  const store = { ownerId: "usr_owner", embeddingModel: "an-embedder" };
  await db.insert(vectorStores).values([
    { id: "vs_mine", name: "mine", ...store },
    { id: "vs_shared", name: "shared", ...store, ownerId: "usr_other", visibility: "everyone" },
    { id: "vs_foreign", name: "foreign", ...store, ownerId: "usr_other" },
  ]);
  const dataset = { columns: [], tableName: "t1" };
  await db.insert(datasets).values([
    { id: "ds_mine", name: "sales", ownerId: "usr_owner", ...dataset },
    { id: "ds_foreign", name: "salaries", ownerId: "usr_other", ...dataset },
  ]);
  mine = await stage.addWorkflow({ owner: "owner" });
  foreign = await stage.addWorkflow({ owner: "other" });
});
afterAll(() => stage.close());

function check(triggers: readonly Trigger[], role: "admin" | "user" = "user") {
  const owner = { role, ownerId: role === "admin" ? "usr_admin" : "usr_owner" };
  const find = (name: string) => FOLDERS.find((folder) => folder.name === name);
  const { database } = stage;
  const parts = { database, fileConnections: { find }, workflowId: mine, now: START };
  return checkTriggers({ ...parts, owner }, triggers);
}

describe("the check of triggers", () => {
  it("names every fault with its trigger and field", async () => {
    const file = { kind: "file" as const, on: ["uploaded" as const], ...base };
    const workflow = { kind: "workflow" as const, on: ["completed" as const], ...base };
    const faults = await check([
      { kind: "webhook", auth: "secret" },
      { kind: "schedule", cron: "0 0 31 2 *", timezone: "UTC", ...base },
      { kind: "schedule", cron: "0 0 * * *", timezone: "Mars/Olympus", ...base },
      { ...file, path: "*".repeat(1_001) },
      { ...file, path: "**", folder: "inbox" },
      { kind: "knowledge", vector_store: "vs_foreign", ...base },
      { ...workflow, workflow: foreign },
      { ...workflow, workflow: mine },
      { kind: "dataset", dataset: "salaries", ...base },
    ]);
    expect(faults.map(({ step, field }) => [step, field])).toEqual([
      [null, "triggers[1].cron"],
      [null, "triggers[2].timezone"],
      [null, "triggers[3].path"],
      [null, "triggers[4].folder"],
      [null, "triggers[5].vector_store"],
      [null, "triggers[6].workflow"],
      [null, "triggers[7].workflow"],
      [null, "triggers[8].dataset"],
    ]);
    expect(faults.map(({ message }) => message)).toEqual([
      expect.stringContaining("no such time"),
      expect.stringContaining("no time zone 'Mars/Olympus'"),
      expect.stringContaining("too long"),
      expect.stringContaining("Only an administrator"),
      expect.stringContaining("no vector store 'vs_foreign'"),
      expect.stringContaining("no workflow"),
      expect.stringContaining("its own runs"),
      expect.stringContaining("no dataset 'salaries'"),
    ]);
  });

  it("takes what the owner may use", async () => {
    const workflow = { kind: "workflow" as const, on: ["failed" as const], ...base };
    const triggers: Trigger[] = [
      { kind: "schedule", every: "30s", timezone: "Europe/Berlin", ...base },
      { kind: "file", path: "reports/*.pdf", on: ["deleted"], ...base },
      { kind: "knowledge", vector_store: "vs_mine", ...base },
      { kind: "knowledge", vector_store: "vs_shared", ...base },
      { ...workflow, workflow: "*" },
      { ...workflow, workflow: mine, allow_loop: true },
      { kind: "dataset", dataset: "sales", ...base },
      { kind: "dataset", dataset: "ds_mine", ...base },
    ];
    expect(await check(triggers)).toEqual([]);
  });

  it("lets administrators follow the watched folders, and no others", async () => {
    const file = { kind: "file" as const, path: "**", on: ["uploaded" as const], ...base };
    const inbox = { ...file, folder: "inbox" };
    expect(await check([inbox], "admin")).toEqual([]);
    const faults = await check(
      [
        { ...file, folder: "workspace" },
        { ...file, folder: "none" },
      ],
      "admin",
    );
    expect(faults.map(({ field }) => field)).toEqual(["triggers[0].folder", "triggers[1].folder"]);
  });
});
