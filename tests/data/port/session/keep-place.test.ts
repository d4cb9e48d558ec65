import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTextCheck } from "../../../../src/data/port/gate/check-text.ts";
import {
  bind,
  execute,
  parse,
  query,
  sync,
} from "../../../../src/data/port/protocol/frontend-messages.ts";
import { MAX_KEPT_NAMES } from "../../../../src/data/port/session/session-limits.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import { openRawClient, type RawClient } from "./raw-client.ts";
import type { TrustListener } from "./trust-listener.ts";
import { openTrustStage, run, type TrustStage } from "./trust-stage.ts";

const UNLOCK = "select pg_advisory_unlock_all()";
/** A text whose end no log keeps. */
const LONG = `select ${Array.from({ length: 1_000 }, (_, n) => `1 as column_${n}`).join(", ")}`;

describe.skipIf(databaseServerUrl === undefined)("a client that gives up all its locks", () => {
  let stage: TrustStage;
  let listener: TrustListener;
  let first: RawClient;
  let client: RawClient;

  beforeAll(async () => {
    stage = await openTrustStage({ check: createTextCheck(), principal: { rowLimit: 5_000 } });
    ({ listener } = stage);
  });
  afterAll(() => stage?.close());
  // The client under test has the second place, so that a second one of its own would be seen.
  beforeEach(async () => {
    first = await openRawClient(listener.port);
    client = await openRawClient(listener.port);
  });
  afterEach(() => {
    first.socket.destroy();
    client.socket.destroy();
  });

  const places = async () => {
    client.send(
      query(
        "select count(*)::int as n from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
      ),
    );
    const answers = await client.answers();
    const row = answers.find(({ type }) => type === "D");
    return row?.body.toString("latin1").at(-1);
  };

  test.each([
    ["discard all", "C(DISCARD ALL)", "1 2 n C(DISCARD ALL)"],
    [UNLOCK, "T D C(SELECT 1)", "1 2 T D C(SELECT 1)"],
  ])("by %s keeps its place, and sees nothing of it", async (lost, tag, described) => {
    expect(await places()).toBe("1");
    client.send(query(lost), query("select 1"), ...run(lost), sync(), query("select 2"));
    expect(await client.shorthand()).toBe(`${tag} Z(I)`);
    expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
    expect(await client.shorthand()).toBe(`${described} Z(I)`);
    expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
    expect(await places()).toBe("1");
    client.send(query("begin"), query(lost), query("rollback"));
    for (const _ of "abc") await client.answers();
    expect(await places()).toBe("1");
  });

  test.each([
    ["in other characters", [query('select U&"pg\\005fadvisory_unlock_all"()')]],
    ["behind a long text", [query(`${LONG}; ${UNLOCK}`)]],
    ["by the name of a statement", [parse("p", UNLOCK), sync(), query("execute p")]],
    [
      "by the name of a portal",
      [
        ...[query("begin"), parse("p", UNLOCK), bind("c", "p", []), sync()],
        ...[query("fetch all from c"), query("commit")],
      ],
    ],
    [
      "by a statement that was forgotten",
      [
        parse("p", UNLOCK),
        ...Array.from({ length: MAX_KEPT_NAMES }, (_, n) => parse(`s${n}`, "select 1")),
        ...[bind("", "p", []), execute("", 0), sync()],
      ],
    ],
    [
      "in a transaction that fails then",
      [query(`begin; ${UNLOCK}; select 1/0`), query("select 1"), query("rollback")],
    ],
  ])("%s keeps its place", async (_, messages) => {
    client.send(...messages);
    const answered = messages.filter((bytes) => "QS".includes(String.fromCharCode(bytes[0] ?? 0)));
    for (const _each of answered) await client.answers();
    expect(await places()).toBe("1");
  });

  test("but has failed to do so takes no second place", async () => {
    first.socket.destroy();
    client.send(query("select 1; discard all"), query("reset all"), query("unlisten *"));
    expect(await client.shorthand()).toBe("T D C(SELECT 1) E(25001) Z(I)");
    for (const _ of "ab") await client.answers();
    expect(await places()).toBe("1");
  });
});
