import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it, vi } from "vitest";
import { openSecret } from "../../src/access/secret.ts";
import { createChatSeals } from "../../src/chats/chat-seals.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { chats } from "../../src/db/tables/chats.ts";
import { users } from "../../src/db/tables/users.ts";
import { callHttp, logIn } from "../support/clients/http-session.ts";
import { startGateway } from "../support/servers/start-gateway.ts";
import { startReplicas } from "../support/servers/start-replicas.ts";
import {
  backUp,
  createBackupStage,
  type Environment,
  makeInstallation,
  readTables,
  restore,
  storeKinds,
  withDatabase,
} from "../support/stages/backup-stage.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const stage = createBackupStage();
afterAll(() => stage.remove());
const WORD = "Quittungsblock";
const PASSWORD = "the administrator's own password";
const PLACE = { id: "chat_1", ownerId: "usr_1" };

function document(text: string) {
  const m1 = { parent: null, role: "user", parts: [{ type: "text", text }], at: 1, state: "done" };
  return { version: 1, model: "", system: "", parameters: {}, leaf: "m1", messages: { m1 } };
}

const sealsOf = async (environment: Environment) =>
  createChatSeals(await openSecret(loadConfig(environment).settings));

describe.each(storeKinds)("a backup from %s", (kind) => {
  it("has no word of a chat, and what is restored opens with the same secret alone", async () => {
    const source = await stage.newPlace(kind, { APP_SECRET: "the secret of the source" });
    await makeInstallation(source);
    const seals = await sealsOf(source);
    const time = new Date(0);
    await withDatabase(source, async (db) => {
      await db.insert(users).values({ id: PLACE.ownerId, username: "ann", role: "user" });
      await db.insert(chats).values({
        ...PLACE,
        sealedTitle: seals.sealTitle(PLACE, WORD),
        sealedDocument: seals.sealDocument(PLACE, Buffer.from(JSON.stringify(document(WORD)))),
        bytes: 1,
        createdAt: time,
        updatedAt: time,
      });
    });
    const file = await backUp(source, stage.newFile());
    const archive = gunzipSync(await readFile(file));
    expect(archive.includes("chat_1")).toBe(true);
    const base64 = Buffer.from(WORD).toString("base64url").slice(0, -2);
    for (const form of [WORD, Buffer.from(WORD).toString("hex"), base64]) {
      expect(archive.includes(form)).toBe(false);
    }
    const target = await stage.newPlace(kind, { APP_SECRET: "the secret of the source" });
    await restore(target, file);
    expect((await readTables(target))["chats"]).toEqual((await readTables(source))["chats"]);
    const [row] = await withDatabase(target, (db) => db.select().from(chats));
    if (row === undefined) throw new Error("no chat was restored");
    const opened = (await sealsOf(target)).openDocument(row, row.sealedDocument);
    expect(JSON.parse(String(opened))).toEqual(document(WORD));
    const others = await sealsOf({ ...target, APP_SECRET: "a secret that has changed" });
    expect(others.openDocument(row, row.sealedDocument)).toBeUndefined();
    expect(others.openTitle(row, row.sealedTitle)).toBeUndefined();
    // A title does not open as a document.
    expect(seals.openTitle({ ...row, id: "chat_2" }, row.sealedTitle)).toBeUndefined();
  });
});

describe("a server with its own folder", () => {
  it("writes no word of a chat to its log or its files, whatever is refused", async () => {
    const gateway = await startGateway({ ADMIN_PASSWORD: PASSWORD, LOG_LEVEL: "debug" });
    const token = await logIn(gateway.url, "admin", PASSWORD);
    const send = (method: string, path: string, body: unknown) =>
      callHttp(gateway.url, { method, path, token, body });
    const { body } = await send("POST", "/api/chats", { document: document(WORD) });
    const wrong = { ...document(WORD), leaf: WORD, model: WORD };
    const statuses = [
      await send("POST", "/api/chats", { document: wrong }),
      await send("POST", "/api/chats", `{"document": "${WORD}`),
      await send("PUT", `/api/chats/${body.id}`, { document: document(WORD), if_revision: 9 }),
      await send("PATCH", `/api/chats/${body.id}`, { title: WORD.repeat(9) }),
      await callHttp(gateway.url, { path: `/api/chats?search=${WORD}`, token }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([400, 400, 409, 400, 200]);
    const folder = gateway.dataDir;
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const contents = files
      .filter((file) => file.isFile())
      .map((file) => readFile(join(file.parentPath, file.name)).catch(() => Buffer.alloc(0)));
    const found = (await Promise.all(contents)).filter((content) => content.includes(WORD));
    expect(found).toEqual([]);
    expect(gateway.output()).toContain("/api/chats");
    expect(gateway.output()).not.toContain(WORD);
    await gateway.stop();
  });

  it("refuses to start with a limit above 50", async () => {
    expect(() => loadConfig({ CHAT_HISTORY_LIMIT: "51" })).toThrow(/CHAT_HISTORY_LIMIT/);
    expect(() => loadConfig({ CHAT_HISTORY_LIMIT: "-1" })).toThrow(/CHAT_HISTORY_LIMIT/);
    expect(loadConfig({ CHAT_HISTORY_LIMIT: "0" }).settings.CHAT_HISTORY_LIMIT).toBe(0);
  });
});

describe("two replicas", () => {
  it("keep exactly the limit of chats that many tabs begin at once", async ({ skip }) => {
    const environment = { ADMIN_PASSWORD: PASSWORD, CHAT_HISTORY_LIMIT: "7" };
    const replicas = await startReplicas({ count: 2, environment });
    if (replicas === undefined) return skip("there is no PostgreSQL or no Redis");
    const [one, other] = replicas.gateways;
    const token = await logIn(one?.url ?? "", "admin", PASSWORD);
    const body = { document: document(WORD) };
    const created = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        callHttp((at % 2 === 0 ? one : other)?.url ?? "", {
          method: "POST",
          path: "/api/chats",
          token,
          body,
        }),
      ),
    );
    expect(created.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const gone = created.flatMap(({ body: made }) => made.replaced);
    expect(gone).toHaveLength(13);
    const { body: list } = await callHttp(other?.url ?? "", { path: "/api/chats", token });
    expect([list.kept, list.limit]).toEqual([7, 7]);
    await replicas.finish();
  });
});
