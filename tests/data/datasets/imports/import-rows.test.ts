import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type Import,
  importDataset,
  importRows,
} from "../../../../src/data/datasets/imports/import-rows.ts";
import { openTableFiles } from "../../../../src/data/datasets/imports/table-files.ts";
import type { Database } from "../../../../src/db/database.ts";
import { openTestDatabase } from "../../../support/servers/databases/test-database.ts";
import { type DatasetStage, openDatasetStage } from "../dataset-stage.ts";

let database: Database;
let stage: DatasetStage;
let folder: string;
const files = openTableFiles();

beforeAll(async () => {
  database = await openTestDatabase();
  stage = await openDatasetStage(database);
  folder = await mkdtemp(join(tmpdir(), "import-rows-"));
});
afterAll(async () => {
  files.close();
  await rm(folder, { recursive: true, force: true });
  await stage.close();
  await database.close();
});

async function given(csv: string): Promise<Import> {
  const path = join(folder, "file.csv");
  await writeFile(path, csv);
  return {
    store: stage.datasets.store,
    files,
    actor: { caller: stage.owner, address: null, requestId: "req_1" },
    file: { path, format: "csv" },
    signal: new AbortController().signal,
  };
}

it("keeps the digits of large integers in a column of JSON", async () => {
  const columns = [{ name: "detail", type: "json" }] as const;
  const { id } = await stage.create({ columns });
  const file = await given('detail\n"{""n"":9007199254740993,""m"":[1]}"\n');
  const { dataset } = await importRows(file, { id, mode: "append" });
  expect(await stage.rows(dataset)).toEqual([{ detail: { n: "9007199254740993", m: [1] } }]);
});

it("finds the columns that another file has made by the headings of that file", async () => {
  const file = await given("id,Price ($),Price (€)\n1,10.50,9.25\n");
  const { dataset } = await importDataset(file, { name: "prices" });
  const { id } = dataset;
  const mode = "append";
  expect(dataset.columns.map(({ name }) => name)).toEqual(["id", "Price", "Price_2"]);
  await importRows(file, { id, mode });
  await importRows(await given("id,Price (€)\n2,9.99\n"), { id, mode });
  await importRows(await given("id,Price,Price_2\n3,3,4\n"), { id, mode });
  expect(await stage.rows(dataset)).toEqual([
    ...[1, 1].map((one) => ({ id: one, Price: "10.50", Price_2: "9.25" })),
    { id: 2, Price: null, Price_2: "9.99" },
    { id: 3, Price: "3", Price_2: "4" },
  ]);
  const wrong = importRows(await given("id,Price (£)\n4,8\n"), { id, mode });
  await expect(wrong).rejects.toMatchObject({
    ...{ code: "invalid_value", param: "Price (£)" },
    message: expect.stringContaining("'Price' or 'Price_2'"),
  });
});
