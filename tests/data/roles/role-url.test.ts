import pg from "pg";
import { describe, expect, it } from "vitest";
import { roleUrl } from "../../../src/data/roles/role-url.ts";

const ADDRESS = { user: "gw_1_bik", password: "a-b_c", database: "gateway", isEncrypted: false };

/** What the driver of the port takes from the URL of a role. */
function read(source: string, isEncrypted = false) {
  const client = new pg.Client({
    connectionString: roleUrl(source, { ...ADDRESS, isEncrypted }),
  });
  const { ssl, options } = (client as unknown as { connectionParameters: pg.ClientConfig })
    .connectionParameters;
  const { user, password, host, port, database } = client;
  const check = ssl === null || typeof ssl !== "object" ? ssl : (ssl.rejectUnauthorized ?? true);
  return { user, password, host, port, database, options, tls: check };
}

describe("the URL of a role", () => {
  it("keeps the address and replaces who logs in", () => {
    expect(read("postgres://me:secret@db.test:6543/gate")).toMatchObject({
      ...{ user: ADDRESS.user, password: ADDRESS.password },
      ...{ host: "db.test", port: 6543, database: "gate", tls: false },
    });
    expect(read("postgresql://db.test")).toMatchObject({ port: 5432, database: "gateway" });
    expect(read("postgres://me@db.test/gate?user=root&password=x&database=y")).toMatchObject({
      ...{ user: ADDRESS.user, password: ADDRESS.password, database: "gate" },
    });
  });

  it.each([
    ["postgres://me@[::1]:5433/gate", { host: "::1", port: 5433 }],
    [
      "postgres://me@localhost/gate?host=/var/run/my%20postgres&port=5433",
      { host: "/var/run/my postgres", port: 5433 },
    ],
    ["postgres:///gate?host=/tmp", { host: "/tmp", database: "gate" }],
    ["postgres://me@%2Ftmp%2Fsocket/gate", { host: "/tmp/socket", database: "gate" }],
    ["postgres://me@one.test,two.test/gate", { host: "one.test" }],
  ])("reads %s", (source, expected) => {
    expect(read(source)).toMatchObject(expected);
  });

  // `true`: encrypted, and the server's certificate is checked; `false` in the last column: not checked.
  it.each([
    ["", false, false],
    ["", true, { isChecked: false }],
    ["?sslmode=prefer", false, false],
    ["?sslmode=allow", true, { isChecked: false }],
    ["?sslmode=disable", true, false],
    ["?ssl=require", false, { isChecked: false }],
    ["?sslmode=require", false, { isChecked: false }],
    ["?sslmode=verify-ca", false, { isChecked: true }],
    ["?sslmode=verify-full", false, { isChecked: true }],
    ["?ssl=true", false, { isChecked: true }],
    ["?sslmode=require&sslrootcert=system", false, { isChecked: true }],
    ["?sslmode=require&sslnegotiation=direct", false, { isChecked: false }],
  ])("trusts with `%s` whom the gateway trusts", (query, isEncrypted, expected) => {
    const { tls } = read(`postgres://db.test/gate${query}`, isEncrypted);
    expect(tls).toBe(expected === false ? false : (expected as { isChecked: boolean }).isChecked);
  });

  it("keeps what a provider finds its server by, and no setting of a session", () => {
    const options = encodeURIComponent(
      "-c statement_timeout=0 endpoint=ep-1 --search_path=x -cjit=on",
    );
    const url = `postgres://db.test/gate?options=${options}&application_name=x&search_path=y`;
    expect(read(url).options).toBe("endpoint=ep-1");
    expect(roleUrl(url, ADDRESS)).not.toMatch(/application_name|search_path|timeout/);
  });
});
