import { Client } from "pg";
import { expect } from "vitest";
import { createDatabase } from "../../../support/servers/databases/test-database.ts";

export interface DataDatabase {
  /** As the role that reads. */
  readonly url: string;
  readonly adminUrl: string;
  readonly role: string;
  readonly drop: () => Promise<void>;
}

/** A database with a schema `data` and a role that reads it. */
export async function createDataDatabase(serverUrl: string): Promise<DataDatabase> {
  const own = await createDatabase(serverUrl);
  const role = `reader_${new URL(own.url).pathname.slice(1)}`;
  await runAsAdmin(
    own.url,
    `create schema data;
     create table public.numbers as select n, 'row ' || n as label from generate_series(1, 5000) n;
     create view data.numbers as select n, label from public.numbers;
     create role ${role} login noinherit password 'secret of ${role}';
     grant usage on schema data to ${role};
     grant select on data.numbers to ${role};
     alter role ${role} set search_path = data;
     alter role ${role} set default_transaction_read_only = on;`,
  );
  const url = new URL(own.url);
  url.username = role;
  url.password = `secret of ${role}`;
  return {
    url: url.href,
    adminUrl: own.url,
    role,
    async drop() {
      await own.drop();
      await runAsAdmin(serverUrl, `drop role ${role}`);
    },
  };
}

export async function runAsAdmin(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Waits until so many statements of the role are running on the server. */
export async function untilActive(
  { adminUrl, role }: DataDatabase,
  count = 1,
  condition = "",
): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  const sql = `select count(*)::int as n from pg_stat_activity where usename = $1 and state = 'active' ${condition}`;
  try {
    const active = async () => (await client.query<{ n: number }>(sql, [role])).rows[0]?.n;
    await expect.poll(active).toBe(count);
  } finally {
    await client.end();
  }
}
