import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ExternalSort } from "../../../src/workflows/row-process/disk/external-sort.ts";
import { RowOrder } from "../../../src/workflows/row-process/values/row-order.ts";

const LARGE = "x".repeat(900_000);
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "external-sort-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Rows that take several pieces on disk. */
async function sorted(values: readonly string[]): Promise<readonly unknown[]> {
  const sort = new ExternalSort(new RowOrder([{ field: "v" }]), folder);
  for (const [n, v] of values.entries()) sort.add(JSON.stringify({ v, n, LARGE }));
  const found: unknown[] = [];
  for await (const text of sort.sorted()) {
    const { v, n } = JSON.parse(text) as { v: string; n: number };
    found.push([v, n]);
  }
  expect(readdirSync(folder).length).toBeGreaterThan(1);
  return found;
}

const numbers = Array.from({ length: 60 }, (_, n) => String(60 - n));
const inOrder = (values: readonly string[], compare?: (left: string, right: string) => number) =>
  [...values].sort(compare).map((v) => [v, values.indexOf(v)]);

test("numbers in texts are in order over all pieces", async () => {
  const values = [...numbers, "1.0"];
  expect(await sorted(values)).toEqual(
    inOrder(values, (left, right) => Number(left) - Number(right)),
  );
});

test("pieces are sorted as texts when the last row tells that they are", async () => {
  const values = [...numbers, "1.0", "none"];
  expect(await sorted(values)).toEqual(inOrder(values));
});
