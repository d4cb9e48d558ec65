import pg from "pg";
import { describe, expect, it } from "vitest";
import { connectionTexts, type DataAddress } from "../../../src/access/bi-keys/connection-texts.ts";

const SECRET = `bk-${"aB3".repeat(14)}x`;
const ADDRESS: DataAddress = {
  host: "gateway.example.com",
  port: 5434,
  reason: null,
  origin: "https://gateway.example.com",
};
const HOSTS = [
  ["gateway.example.com", "gateway.example.com"],
  ["192.0.2.7", "192.0.2.7"],
  ["[2001:db8::7]", "2001:db8::7"],
] as const;
const NAMES = [
  ["monthly report", "monthly_report"],
  ["Umsätze 📈", "umsatze"],
  ["a'b\"c;d=e{f}@g:h/i?j&k#l%m\\n $(o)", "a_b_c_d_e_f_g_h_i_j_k_l_m_n_o"],
  ["報告", "reader"],
  ["__", "reader"],
  ["n".repeat(200), "n".repeat(40)],
  [`${"n".repeat(39)} more`, "n".repeat(39)],
] as const;

/** `Key=value` pairs, as .NET and ODBC read them where no value is quoted. */
const pairs = (text: string) =>
  Object.fromEntries(text.split(";").map((pair) => pair.split(/=(.*)/s).slice(0, 2)));

describe("the connection texts of a BI key", () => {
  it.each(NAMES.flatMap((name) => HOSTS.map((host) => [...name, ...host] as const)))(
    "of %j read back as user %s at %s",
    (name, user, host, bareHost) => {
      const texts = connectionTexts({ ...ADDRESS, host }, { name, secret: SECRET });
      const uri = texts.uri ?? "";
      expect(new pg.Client(uri)).toMatchObject({
        host: bareHost,
        port: 5434,
        user,
        password: SECRET,
        database: "data",
      });
      expect(new URL(uri).searchParams.get("sslmode")).toBe("require");
      expect(texts.psql).toBe(`psql "${uri}"`);
      expect(texts.sqlalchemy).toBe(uri.replace("postgresql:", "postgresql+psycopg:"));
      const jdbc = new URL((texts.jdbc ?? "").replace(/^jdbc:/, ""));
      expect([jdbc.hostname, jdbc.port, jdbc.pathname]).toEqual([host, "5434", "/data"]);
      expect(Object.fromEntries(jdbc.searchParams)).toEqual({
        ...{ user, password: SECRET, sslmode: "require" },
      });
      expect(pairs(texts.dotnet ?? "")).toEqual({
        ...{ Host: bareHost, Port: "5434", Database: "data", Username: user, Password: SECRET },
        ...{ "SSL Mode": "Require", "Trust Server Certificate": "true" },
      });
      expect(pairs(texts.odbc ?? "")).toEqual({
        ...{ Driver: "{PostgreSQL Unicode}", Server: bareHost, Port: "5434", Database: "data" },
        ...{ Uid: user, Pwd: SECRET, SSLmode: "require" },
      });
      expect(texts.fields).toEqual({
        ...{ host: bareHost, port: 5434, database: "data", user, sslmode: "require" },
      });
    },
  );

  it("without the port are the one for HTTP, and say why", () => {
    const { http, reason, ...others } = connectionTexts(
      { ...ADDRESS, port: null, reason: "not enabled" },
      { name: "a report", secret: SECRET },
    );
    expect(http).toBe(
      `curl -H "Authorization: Bearer ${SECRET}" "https://gateway.example.com/v1/data"`,
    );
    expect(reason).toBe("not enabled");
    expect(new Set(Object.values(others))).toEqual(new Set([null]));
  });
});
