import { mkdirSync } from "node:fs";
import { afterAll, describe, expect, it, vi } from "vitest";
import { callHttp, logIn } from "../support/clients/http-session.ts";
import { runScript } from "../support/processes/run-script.ts";
import { placeMigratedDatabase } from "../support/servers/databases/prepared-database.ts";
import { startGateway, type TestGateway } from "../support/servers/start-gateway.ts";
import {
  createBackupStage,
  type Environment,
  storeKinds,
  withDatabase,
} from "../support/stages/backup-stage.ts";

vi.setConfig({ testTimeout: 300_000 });
const LOST = "a password that nobody knows any more";
const CHOSEN = "a password that its user has chosen";
/** Passwords are switched off. The provider is not asked. */
const PROVIDER = {
  ...{ OIDC_ISSUER: "https://login.example.com", OIDC_CLIENT_ID: "gateway" },
  ...{ OIDC_ONLY: "1" },
};
/** More failures than an account has without a wait. */
const FAILURES = 8;

const stage = createBackupStage();
afterAll(() => stage.remove());

const settings = (place: Environment) => ({ ...place, ADMIN_PASSWORD: LOST });
const reset = (place: Environment, ...args: readonly string[]) =>
  runScript("reset-password", args, place);

/** One address, which the failures count for. */
const HERE = { "x-forwarded-for": "192.0.2.7" };
const tryPassword = ({ url }: TestGateway, password: string, username = "admin") =>
  callHttp(url, {
    method: "POST",
    path: "/api/auth/login",
    headers: HERE,
    body: { username, password },
  });

async function createUser(gateway: TestGateway, token: string, username: string): Promise<string> {
  const body = { username };
  const made = await callHttp(gateway.url, {
    method: "POST",
    path: "/api/admin/users",
    token,
    body,
  });
  expect(made.status).toBe(201);
  return made.body.id;
}

describe.each(storeKinds)("reset-password, with the %s database", (kind) => {
  it("gives a way back in while the server runs, and while it is stopped", async () => {
    const place = await stage.newPlace(kind);
    // To make the schema is no part of what is shown here, and takes the embedded database seconds.
    if (kind === "embedded") {
      mkdirSync(place["DATA_DIR"] ?? "", { mode: 0o700 });
      await placeMigratedDatabase(place["DATA_DIR"] ?? "");
    }
    const gateway = await startGateway({ ...settings(place), TRUST_PROXY: "1" });
    try {
      const token = await logIn(gateway.url, "admin", LOST);
      const user = await createUser(gateway, token, "ada");
      const path = `/api/admin/users/${user}`;
      const disabling = { method: "PATCH", path, token, body: { state: "disabled" } };
      expect((await callHttp(gateway.url, disabling)).status).toBe(200);
      for (let tries = 0; tries < FAILURES; tries += 1) await tryPassword(gateway, "guessed");
      expect((await tryPassword(gateway, LOST)).status).toBe(429);

      const made = await reset(place, "Admin");
      expect([made.code, made.stderr]).toEqual([0, expect.stringContaining("1 session ended")]);
      expect(made.stdout).toMatch(/^[0-9A-Za-z]{24}\n$/);
      const password = made.stdout.trim();
      expect((await callHttp(gateway.url, { path: "/api/auth/me", token })).status).toBe(401);
      expect((await tryPassword(gateway, LOST)).status).toBe(401);
      const back = await tryPassword(gateway, password);
      expect(back.body).toMatchObject({ must_change_password: true, user: { role: "admin" } });
      const refused = await callHttp(gateway.url, { path, token: back.body.token });
      expect(refused.body.error.code).toBe("password_change_required");
      const changed = await callHttp(gateway.url, {
        method: "POST",
        path: "/api/auth/password",
        token: back.body.token,
        body: { current_password: password, new_password: CHOSEN },
      });
      expect(changed.status).toBe(200);

      const linked = await callHttp(gateway.url, {
        method: "POST",
        path: `${path}/identities`,
        token: changed.body.token,
        body: { issuer: PROVIDER.OIDC_ISSUER, subject: "ada-1" },
      });
      expect(linked.status).toBe(201);
      const off = await reset({ ...place, ...PROVIDER }, "ada");
      expect([off.code, off.stderr]).toEqual([0, expect.stringContaining("ada is disabled")]);
      expect(off.stderr).toContain("1 linked account still signs in as ada");
      expect(off.stderr).toContain("only administrators can log in with a password");
      const unknown = await reset(place, "nobody");
      expect(unknown).toEqual({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining('no user "nobody". Active administrators: admin.'),
      });

      const audit = await callHttp(gateway.url, {
        path: "/api/admin/audit?action=user.update&limit=2",
        token: changed.body.token,
      });
      expect(audit.body.data.map((entry: { via: string }) => entry.via)).toEqual([
        "command_line",
        "command_line",
      ]);
      expect(audit.body.data[0]).toMatchObject({
        actor: null,
        target: { kind: "user", id: user },
        details: { changed: ["password"], ended_sessions: 0 },
      });
      for (const secret of [password, off.stdout.trim()]) {
        expect(gateway.output()).not.toContain(secret);
        expect(audit.text).not.toContain(secret);
      }
    } finally {
      await gateway.stop();
    }

    const stopped = await reset(place, "admin");
    expect([stopped.code, stopped.stderr]).toEqual([0, expect.stringContaining("new password")]);
    const last = stopped.stdout.trim();
    const again = await startGateway(settings(place));
    try {
      expect((await tryPassword(again, CHOSEN)).status).toBe(401);
      expect((await tryPassword(again, last)).status).toBe(200);
    } finally {
      await again.stop();
    }
  });

  it("creates nothing where no server has ever been", async () => {
    const place = await stage.newPlace(kind);
    const made = await reset(place, "admin");
    expect([made.code, made.stdout]).toEqual([1, ""]);
    expect(made.stderr).toMatch(/no database is in|Start the server once/);
    if (kind === "embedded") {
      const second = await reset(place, "admin");
      expect(second.stderr).toContain("no database is in");
    } else {
      const tables = await withDatabase(place, (db) =>
        db.execute("select 1 from pg_tables where schemaname = 'public'"),
      );
      expect(tables).toHaveLength(0);
    }
  });
});

const wrongCalls = [
  { args: [], code: 2, stderr: "name one user" },
  { args: ["one", "two"], code: 2, stderr: "Usage:" },
  { args: ["--force"], code: 2, stderr: "--force is not known" },
  { args: ["--help"], code: 0, stderr: "" },
];
it.each(wrongCalls)("reset-password $args ends with $code", async ({ args, code, stderr }) => {
  const ended = await reset({ DATA_DIR: "unused" }, ...args);
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(stderr)]);
});
