import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { message } from "../../../../src/data/port/protocol/fields.ts";
import {
  bind,
  execute,
  parse,
  query,
  sync,
  terminate,
} from "../../../../src/data/port/protocol/frontend-messages.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import { untilActive } from "./data-database.ts";
import { refuseSome } from "./fake-gates.ts";
import { errorOf, flush, openRawClient, type RawClient } from "./raw-client.ts";
import type { TrustListener } from "./trust-listener.ts";
import { openTrustStage, run, type TrustStage } from "./trust-stage.ts";

describe.skipIf(databaseServerUrl === undefined)("a session on PostgreSQL", () => {
  let stage: TrustStage;
  let listener: TrustListener;

  beforeAll(async () => {
    stage = await openTrustStage({ check: refuseSome, principal: { rowLimit: 100 } });
    ({ listener } = stage);
  });
  afterAll(() => stage?.close());

  const withClient = async (use: (client: RawClient) => Promise<void>): Promise<void> => {
    const client = await openRawClient(listener.port);
    try {
      await use(client);
    } finally {
      client.socket.destroy();
    }
  };

  test("a refused Query says why, and the session goes on idle", () =>
    withClient(async (client) => {
      client.send(query("select FORBIDDEN"));
      const answers = await client.answers();
      expect(errorOf(answers)).toMatchObject({
        severity: "ERROR",
        code: "42501",
        message: "Not here.",
        hint: "Read.",
        position: 3,
      });
      expect(answers.at(-1)?.body.toString()).toBe("I");
      client.send(query("select 1"));
      expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
    }));

  test("a refused Query fails its transaction block", () =>
    withClient(async (client) => {
      client.send(query("begin"));
      expect(await client.shorthand()).toBe("C(BEGIN) Z(T)");
      client.send(query("select FORBIDDEN"));
      expect(await client.shorthand()).toBe("E(42501) Z(E)");
      client.send(query("select 1"));
      expect(await client.shorthand()).toBe("E(25P02) Z(E)");
      client.send(query("commit"));
      expect(await client.shorthand()).toBe("C(ROLLBACK) Z(I)");
    }));

  test("queries sent at once are answered in their order, refused or not", () =>
    withClient(async (client) => {
      client.send(
        ...[..."ab"].flatMap(() => [
          query("select 1"),
          query("FORBIDDEN"),
          query("select 1; select 2"),
        ]),
      );
      for (const _ of "ab") {
        expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
        expect(await client.shorthand()).toBe("E(42501) Z(I)");
        expect(await client.shorthand()).toBe("T D C(SELECT 1) T D C(SELECT 1) Z(I)");
      }
    }));

  test("after a refused Parse everything up to Sync is skipped, and earlier answers come first", () =>
    withClient(async (client) => {
      client.send(
        ...run("select 1"),
        ...run("select FORBIDDEN"),
        ...run("select 2"),
        query("select 'skipped'"),
        sync(),
        ...run("select 3"),
        sync(),
      );
      expect(await client.shorthand()).toBe("1 2 T D C(SELECT 1) E(42501) Z(I)");
      expect(await client.shorthand()).toBe("1 2 T D C(SELECT 1) Z(I)");
    }));

  test("an error before a refused Parse is the only one up to Sync", () =>
    withClient(async (client) => {
      client.send(...run("select 1/0"), ...run("select FORBIDDEN"), sync(), query("select 1"));
      expect(await client.shorthand()).toBe("1 E(22012) Z(I)");
      expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
    }));

  test("a refused Parse is answered at Flush, and what follows waits for Sync", () =>
    withClient(async (client) => {
      client.send(parse("", "FORBIDDEN"), flush());
      expect(await client.next(1)).toBe("E(42501)");
      client.send(...run("select 1"), query("select 1"), flush());
      client.send(sync());
      expect(await client.shorthand()).toBe("Z(I)");
    }));

  test("a refused Parse in a transaction block fails the block", () =>
    withClient(async (client) => {
      client.send(query("begin"), parse("", "FORBIDDEN"), sync());
      expect(await client.shorthand()).toBe("C(BEGIN) Z(T)");
      expect(await client.shorthand()).toBe("E(42501) Z(E)");
    }));

  test("a statement has as many rows as the key may read, and then an error between messages", () =>
    withClient(async (client) => {
      client.send(query("select n from numbers limit 100"));
      expect((await client.answers()).filter(({ type }) => type === "D")).toHaveLength(100);
      client.send(query("select n from numbers; select 1"));
      const answers = await client.answers();
      expect(answers.map(({ type }) => type).join("")).toBe(`T${"D".repeat(100)}EZ`);
      expect(errorOf(answers)).toMatchObject({ code: "54000" });
      client.send(query("select 1"));
      expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
    }));

  test("a cut statement of a pipeline skips the rest up to Sync", () =>
    withClient(async (client) => {
      client.send(...run("select n from numbers"), ...run("select 1"), sync(), query("select 1"));
      const answers = await client.answers();
      expect(answers.map(({ type }) => type).join("")).toBe(`12T${"D".repeat(100)}EZ`);
      expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
    }));

  test("the rows of a portal count over all its Executes", () =>
    withClient(async (client) => {
      client.send(parse("", "select n from numbers"), bind("p", "", []));
      client.send(execute("p", 60), execute("p", 40), execute("p", 1), sync());
      const answers = await client.answers();
      const types = `12${"D".repeat(60)}s${"D".repeat(40)}sEZ`;
      expect(answers.map(({ type }) => type).join("")).toBe(types);
    }));

  test("each statement leaves a line with its text, rows and outcome", () =>
    withClient(async (client) => {
      listener.statements.length = 0;
      client.send(query("select n from numbers limit 7"));
      await client.answers();
      client.send(parse("named", "select 12"), bind("", "named", []), execute("", 0), sync());
      await client.answers();
      client.send(query("FORBIDDEN"), query("select missing"), query("select n from numbers"));
      for (const _ of "abc") await client.answers();
      expect(
        listener.statements.map(({ text, rows, outcome, code }) => [text, rows, outcome, code]),
      ).toEqual([
        ["select n from numbers limit $1", 7, "ok", null],
        ["select $1", 1, "ok", null],
        ["FORBIDDEN", 0, "refused", "42501"],
        ["select missing", 0, "error", "42703"],
        ["select n from numbers", 100, "cut", "54000"],
      ]);
    }));

  test.each([
    ["d", "CopyData"],
    ["F", "FunctionCall"],
    ["p", "PasswordMessage"],
    ["\0", "an unknown type"],
  ])("%j, %s, ends the connection", (type) =>
    withClient(async (client) => {
      client.send(query("select 1"));
      await client.answers();
      client.send(message(type, Buffer.alloc(8)));
      expect(await client.shorthand()).toBe("E(08P01)");
      await client.closed;
    }),
  );

  test("a message beyond 1 MiB ends the connection before it is read", () =>
    withClient(async (client) => {
      const head = Buffer.alloc(5);
      head.write("B");
      head.writeInt32BE(64 * 1_048_576, 1);
      client.send(head);
      expect(await client.shorthand()).toBe("E(08P01)");
      await client.closed;
    }));

  test("a second StartupMessage ends the connection", () =>
    withClient(async (client) => {
      client.send(Buffer.from([0, 0, 0, 8, 0, 3, 0, 0]));
      expect(await client.shorthand()).toBe("E(08P01)");
      await client.closed;
    }));

  test("a text that is not UTF-8 is refused", () =>
    withClient(async (client) => {
      client.send(message("Q", Buffer.from("select '\xff'\0", "latin1")));
      expect(await client.shorthand()).toBe("E(22021) Z(I)");
    }));

  test("an error with a value of 10 MB loses its end, and nothing else", () =>
    withClient(async (client) => {
      client.send(query("select repeat('x', 10000000)::int"), query("select 1"));
      const answers = await client.answers();
      expect(errorOf(answers)).toMatchObject({ code: "22P02" });
      expect(answers[1]?.body.length).toBeLessThan(100_000);
      expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
    }));

  test("cancel ends the statement, and ending the session tells the client", () =>
    withClient(async (client) => {
      const session = listener.sessions.at(-1);
      client.send(query("select pg_sleep(60)"));
      await untilActive(stage.database);
      session?.cancel();
      expect(await client.shorthand()).toBe("T E(57014) Z(I)");
      expect(listener.statements.at(-1)).toMatchObject({ outcome: "cancelled", code: "57014" });
      session?.end("57P01", "The key was revoked.");
      expect(await client.shorthand()).toBe("E(57P01)");
      await client.closed;
      await session?.done;
    }));

  test("Terminate closes the connection", () =>
    withClient(async (client) => {
      client.send(query("select pg_sleep(60)"), terminate());
      await client.closed;
      await listener.sessions.at(-1)?.done;
    }));

  test("5,000 messages without a Sync are answered", () =>
    withClient(async (client) => {
      const once = Buffer.concat([parse("", "select 1"), bind("", "", []), execute("", 0)]);
      client.send(...Array.from({ length: 1700 }, () => once), sync());
      const answers = await client.answers();
      expect(answers.filter(({ type }) => type === "D")).toHaveLength(1700);
    }));
});
