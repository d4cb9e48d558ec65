import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { takePlace } from "../../../../src/data/port/postgres/session-places.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import {
  createDatabase,
  type OwnDatabase,
} from "../../../support/servers/databases/test-database.ts";

describe.skipIf(databaseServerUrl === undefined)("places of readers on a server", () => {
  let own: OwnDatabase | undefined;
  const clients: pg.Client[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
    await own?.drop();
  });

  it("are counted over all who connect, at the same moment too, and free when a session ends", async () => {
    own = await createDatabase(databaseServerUrl ?? "");
    const { url } = own;
    const open = async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const run = async (text: string) =>
        (await client.query<unknown[]>({ text, rowMode: "array" })).rows;
      return { client, take: () => takePlace(run, 3) };
    };
    const opened = await Promise.all(Array.from({ length: 8 }, open));
    clients.push(...opened.map(({ client }) => client));
    const taken = await Promise.allSettled(opened.map(({ take }) => take()));
    const refused = taken.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(5);
    expect(refused).toEqual(
      refused.map(() =>
        expect.objectContaining({ reason: expect.objectContaining({ code: "53300" }) }),
      ),
    );
    const first = opened[taken.findIndex(({ status }) => status === "fulfilled")];
    const last = opened[taken.findIndex(({ status }) => status === "rejected")];
    clients.splice(clients.indexOf(first?.client as pg.Client), 1);
    await first?.client.end();
    // The server gives the lock back when the backend is gone, a moment after the client.
    await expect
      .poll(
        () =>
          last?.take().then(
            () => "in",
            () => "out",
          ),
        { timeout: 30_000 },
      )
      .toBe("in");
  });
});
