import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openCopyEngine } from "../../../../src/data/port/copy/copy-engine.ts";
import { emptyArchive } from "../../../support/servers/databases/prepared-database.ts";
import { CopyClient, numbersView, openFilledEngine, principal } from "./copy-client.ts";

const folder = await mkdtemp(join(tmpdir(), "copy-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a cartesian join costs the process at its time, and the next one has the same copy", async () => {
  const config = { folder: join(folder, "bi"), archive: await emptyArchive() };
  const opened = await openFilledEngine(5_000, config.folder);
  const [guilty, other] = [
    await CopyClient.open(opened.engine, principal("bik_ann", { timeoutSeconds: 1 })),
    await CopyClient.open(opened.engine, principal("bik_bob")),
  ];
  // It runs for several times its limit, but not for ever: Bun ends no thread that computes in WebAssembly.
  const long = guilty.query(
    "select count(*) from numbers a, numbers b, (select n from numbers limit 3) c",
  );
  const waiting = other.query("select 1");
  await Promise.all([long, waiting]);
  expect([guilty.over, other.over]).toEqual(["57014", "57P01"]);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(opened.exits()).toBe(1);
  await opened.engine.close();

  const control = { exitForTurn: () => undefined, log: () => undefined };
  const next = openCopyEngine(config, { control });
  const secret = { ...numbersView, name: "secrets" };
  const states = await next.applyFeed({ type: "begin", mark: "a", views: [numbersView, secret] });
  expect(states).toMatchObject({ numbers: { state: "s", asOf: 1000 } });
  await next.applyFeed({ type: "whole" });
  const client = await CopyClient.open(next, principal("bik_bob"));
  expect(await client.rows("select count(*) from numbers")).toEqual([["5000"]]);
  await next.close();
});
