import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { chats } from "../../../src/db/tables/chats.ts";
import { callHttp, type HttpAnswer, logIn } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const SECRET = "the secret of these chats";
const WORD = "Quittungsblock";
const MIB = 1024 * 1024;

let served: ServedDeps;
let admin: string;
let ada: string;
let adaId: string;
let ben: string;
let limit = 50;

async function addUser(name: string): Promise<{ readonly id: string; readonly token: string }> {
  const { body } = await as(admin, "POST", "/api/admin/users", {
    username: name,
    password: ADMIN_PASSWORD,
  });
  const first = await logIn(served.url, name, ADMIN_PASSWORD);
  const passwords = { current_password: ADMIN_PASSWORD, new_password: `${ADMIN_PASSWORD} ${name}` };
  return {
    id: body.id,
    token: (await as(first, "POST", "/api/auth/password", passwords)).body.token,
  };
}

beforeAll(async () => {
  served = await serveDeps(databaseServerUrl, { APP_SECRET: SECRET }, (deps) => {
    expect(deps.chats.limit).toBe(50);
    return {
      ...deps,
      chats: {
        ...deps.chats,
        get limit() {
          return limit;
        },
      },
    };
  });
  admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
  ({ token: ada, id: adaId } = await addUser("ada"));
  ({ token: ben } = await addUser("ben"));
});
afterAll(() => served.close());
beforeEach(async () => {
  limit = 50;
  for (const token of [ada, ben]) await as(token, "DELETE", "/api/chats");
});

const as = (token: string, method: string, path: string, body?: unknown): Promise<HttpAnswer> =>
  callHttp(served.url, { method, path, token, ...(body !== undefined && { body }) });
const refusal = ({ status, body }: HttpAnswer) => [status, body.error.code, body.error.param];

function say(parent: string | null, text: string, more: object = {}) {
  const parts = [{ type: "text", text }];
  return { parent, role: "user", parts, at: 1_790_000_000_000, state: "done", ...more };
}

function document(question = WORD, more: object = {}) {
  const messages = { m1: say(null, question), m2: say("m1", "An answer.", { role: "assistant" }) };
  return { version: 1, model: "sim", system: "", parameters: {}, leaf: "m2", messages, ...more };
}

const create = (token = ada, question?: string) =>
  as(token, "POST", "/api/chats", { document: document(question) });

async function made(token = ada, question?: string): Promise<string> {
  const { status, body } = await create(token, question);
  expect(status).toBe(201);
  return body.id;
}

const list = async (token = ada, query = "") => (await as(token, "GET", `/api/chats${query}`)).body;

/** Chats of years ago, without the time of making each; the first is the oldest. */
async function fill(count: number, pinned = false): Promise<string[]> {
  const { seals } = served.deps.chats;
  const rows = Array.from({ length: count }, (_, at) => {
    const id = `chat_${String(at).padStart(22, "0")}`;
    const place = { id, ownerId: adaId };
    const time = new Date(Date.UTC(2020, 1, 1, 0, at));
    const sealed = {
      sealedTitle: seals.sealTitle(place, WORD),
      sealedDocument: seals.sealDocument(place, Buffer.from(JSON.stringify(document()))),
    };
    return { ...place, ...sealed, pinned, bytes: 1, createdAt: time, updatedAt: time };
  });
  await db().insert(chats).values(rows);
  return rows.map(({ id }) => id);
}

const db = () => served.deps.chats.database.db;

describe("a chat", () => {
  it("is kept as it was sent, and listed without its document", async () => {
    // Unknown fields and parts of a later release, and a number that JavaScript would round.
    const sent = `{"version":1, "model":"sim","system":"","parameters":{},"leaf":"m1","later":9007199254740993,
      "messages":{"m1":{"parent":null,"role":"user","at":1,"state":"done","parts":[{"type":"hologram","data":[1]},
      {"type":"text","text":"Ünïcode 🚀"}]}}}`;
    const body = `{"replaces":[],"document":${sent}}`;
    const kept = await as(ada, "POST", "/api/chats", body);
    expect(kept.status).toBe(201);
    expect(kept.body).toMatchObject({
      title: "Ünïcode 🚀",
      revision: 1,
      pinned: false,
      replaced: [],
    });
    expect(kept.body.bytes).toBe(Buffer.byteLength(sent));
    // What a later release wrote is in no document of this one.
    const headers = { authorization: `Bearer ${ada}` };
    const found = await fetch(`${served.url}/api/chats/${kept.body.id}`, { headers });
    expect(await found.text()).toContain(`"document":${sent}}`);
    const listed = await list();
    expect(listed).toMatchObject({
      total: 1,
      kept: 1,
      limit: 50,
      keeps_next: true,
      next_replaced: [],
    });
    expect(listed.data[0]).not.toHaveProperty("document");
  });

  it("has the first 60 characters of the first question as its title, on one line", async () => {
    const titled = async (question: string) => (await create(ada, question)).body.title;
    expect(await titled(`${"🚀".repeat(70)}`)).toBe("🚀".repeat(60));
    expect(await titled("one\ntwo\t\u0000\u0007three\u202e four")).toBe("one two three four");
    const flags = await titled("🇩🇪".repeat(40));
    expect(flags).toBe("🇩🇪".repeat(30));
    expect(await titled(`${"x".repeat(59)}🇩🇪`)).toBe("x".repeat(59));
    expect(await titled("\ud800 alone")).toBe("\ufffd alone");
    const empty = document("", { leaf: null, messages: {} });
    const { body } = await as(ada, "POST", "/api/chats", { document: empty });
    expect(body.title).toBe("");
    const save = { document: document("later"), if_revision: 1 };
    expect((await as(ada, "PUT", `/api/chats/${body.id}`, save)).body.title).toBe("later");
  });

  it("is named after the first question with words, else after what was attached", async () => {
    const asked = (parts: readonly object[], parent: string | null = null) => ({
      ...say(parent, ""),
      parts,
    });
    const picture = { type: "image", data: "data:image/png;base64,AAAA" };
    const file = { type: "file", name: "offer.csv", text: "price,1" };
    const later = say("m1", "What is this?");
    const titled = async (messages: object) => {
      const given = document("", { leaf: "m1", messages });
      return (await as(ada, "POST", "/api/chats", { document: given })).body.title;
    };
    expect(await titled({ m1: asked([picture]), m2: later })).toBe("What is this?");
    expect(await titled({ m1: asked([file]), m2: say("m1", " ") })).toBe("offer.csv");
    expect(await titled({ m1: asked([{ ...picture, name: "pump.png" }]) })).toBe("pump.png");
    expect(await titled({ m1: asked([picture]) })).toBe("");
  });

  it("is found by words of its title", async () => {
    await made(ada, "Offer for Müller");
    await made(ada, "The pump");
    expect((await list(ada, `?search=${encodeURIComponent("müller OFFER")}`)).total).toBe(1);
    const none = await list(ada, "?search=offer%20pump");
    expect([none.total, none.kept]).toEqual([0, 2]);
    const page = await list(ada, "?limit=1&offset=1");
    expect([page.data.map(({ title }: { title: string }) => title), page.total]).toEqual([
      ["Offer for Müller"],
      2,
    ]);
    expect(refusal(await as(ada, "GET", "/api/chats?owner=x"))).toEqual([
      400,
      "unsupported_parameter",
      "owner",
    ]);
  });

  it("is saved by one of two tabs, and the other learns the revision", async () => {
    const id = await made();
    const save = (text: string, revision = 1) =>
      as(ada, "PUT", `/api/chats/${id}`, { document: document(text), if_revision: revision });
    const answers = await Promise.all([save("one"), save("two"), save("three")]);
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 409, 409]);
    const lost = answers.find(({ status }) => status === 409) as HttpAnswer;
    expect(refusal(lost)).toEqual([409, "version_conflict", "if_revision"]);
    expect(lost.body.ext).toEqual({ revision: 2 });
    const won = await save("four", 2);
    expect(won.body).toMatchObject({ revision: 3, title: WORD });
    const { body } = await as(ada, "GET", `/api/chats/${id}`);
    expect(body.document.messages.m1.parts[0].text).toBe("four");
  });

  it("is kept once under the id that its client chose, however often it is sent", async () => {
    const id = `chat_${"R".repeat(22)}`;
    const [oldest] = await fill(50);
    const send = (more: object = {}, token = ada) =>
      as(token, "POST", "/api/chats", { id, document: document(), ...more });
    const answers = await Promise.all([send(), send(), send({ replaces: [oldest] })]);
    expect(answers.map(({ status, body }) => [status, body.id, body.revision])).toEqual(
      Array(3).fill([201, id, 1]),
    );
    const gone = answers.flatMap(({ body }) =>
      body.replaced.map((each: { id: string }) => each.id),
    );
    expect(gone).toEqual([oldest]);
    expect((await list()).kept).toBe(50);
    // Another document does not replace it, and is not dropped in silence either.
    const taken = [409, "version_conflict", "id"];
    const other = await send({ document: document("other") });
    expect(refusal(other)).toEqual(taken);
    // Nobody else learns anything of it.
    const bens = await send({}, ben);
    expect(refusal(bens)).toEqual(taken);
    expect(bens.body.error.message).toBe(other.body.error.message);
    expect((await list(ben)).kept).toBe(0);
    const save = { document: document("saved"), if_revision: 1 };
    expect((await as(ada, "PUT", `/api/chats/${id}`, save)).status).toBe(200);
    expect(refusal(await send())).toEqual(taken);
    expect((await as(ada, "DELETE", `/api/chats/${id}`)).status).toBe(204);
    expect((await send()).body).toMatchObject({ id, revision: 1, replaced: [] });
    for (const wrong of ["chat_1", "R".repeat(27), `chat_${"R".repeat(21)}-`, 1]) {
      expect(refusal(await send({ id: wrong }))).toEqual([400, "invalid_value", "id"]);
    }
  });

  it("is pinned and renamed without a new revision, and deleted", async () => {
    const id = await made();
    const before = (await list()).data[0];
    const changed = await as(ada, "PATCH", `/api/chats/${id}`, {
      pinned: true,
      title: " New\nname ",
    });
    expect(changed.body).toEqual({ ...before, pinned: true, title: "New name" });
    for (const title of ["", " \n", "x".repeat(61), 5]) {
      expect(refusal(await as(ada, "PATCH", `/api/chats/${id}`, { title }))).toEqual([
        400,
        "invalid_value",
        "title",
      ]);
    }
    expect((await as(ada, "DELETE", `/api/chats/${id}`)).status).toBe(204);
    const gone = { document: document(), if_revision: 1 };
    for (const [method, body] of [["GET"], ["PUT", gone], ["PATCH", {}], ["DELETE"]] as const) {
      const answer = await as(ada, method, `/api/chats/${id}`, body);
      expect(refusal(answer)).toEqual([404, "not_found", null]);
    }
  });

  it("is its owner's alone: others and administrators find none, keys are refused", async () => {
    const id = await made();
    const save = { document: document("taken over"), if_revision: 1 };
    for (const token of [ben, admin]) {
      expect((await list(token)).kept).toBe(0);
      await as(token, "DELETE", "/api/chats");
      for (const [method, body] of [
        ["GET"],
        ["PUT", save],
        ["PATCH", { pinned: true }],
        ["DELETE"],
      ] as const) {
        expect(refusal(await as(token, method, `/api/chats/${id}`, body))[0]).toBe(404);
      }
    }
    expect(refusal(await as(TEST_KEY, "GET", "/api/chats"))).toEqual([
      403,
      "insufficient_permission",
      null,
    ]);
    expect((await list()).data[0]).toMatchObject({ id, revision: 1, pinned: false });
  });

  it("of 4 MiB is kept, and a larger one refused in the usual form", async () => {
    const filled = (bytes: number) => {
      const spare = Buffer.byteLength(JSON.stringify(document("")));
      return document("x".repeat(bytes - spare));
    };
    const whole = await as(ada, "POST", "/api/chats", { document: filled(4 * MIB) });
    expect([whole.status, whole.body.bytes]).toEqual([201, 4 * MIB]);
    const { body } = await as(ada, "GET", `/api/chats/${whole.body.id}`);
    expect(body.document).toEqual(filled(4 * MIB));
    const over = await as(ada, "POST", "/api/chats", { document: filled(4 * MIB + 1) });
    expect(refusal(over)).toEqual([413, "request_too_large", "document"]);
    const far = { document: filled(5 * MIB), if_revision: 1 };
    const saved = await as(ada, "PUT", `/api/chats/${whole.body.id}`, far);
    expect(refusal(saved)).toEqual([413, "request_too_large", null]);
  });

  const m1 = say(null, "x");
  it.each([
    ["document", undefined],
    ["document", []],
    ["document.version", document("", { version: 2 })],
    ["document.model", document("", { model: 5 })],
    ["document.system", document("", { system: null })],
    ["document.parameters", document("", { parameters: [] })],
    ["document.leaf", document("", { leaf: "m3" })],
    ["document.leaf", document("", { leaf: null })],
    ["document.leaf", document("", { leaf: "constructor" })],
    ["document.messages", document("", { messages: [] })],
    ["document.messages.m1", document("", { messages: { m1: null } })],
    ["document.messages.1", document("", { messages: { 1: m1 } })],
    ["document.messages.m1000000", document("", { messages: { m1000000: m1 } })],
    ["document.messages.m1.parent", document("", { leaf: "m1", messages: { m1: say("m9", "") } })],
    ["document.messages.m1.parent", document("", { leaf: "m1", messages: { m1: say("m1", "") } })],
    [
      "document.messages.m1.parent",
      document("", {
        leaf: "m3",
        messages: { m1: say("m2", ""), m2: say("m1", ""), m3: say(null, "") },
      }),
    ],
    [
      "document.messages.m1.role",
      document("", { messages: { m1: say(null, "", { role: "system" }) } }),
    ],
    [
      "document.messages.m1.parts",
      document("", { messages: { m1: say(null, "", { parts: {} }) } }),
    ],
    [
      "document.messages.m1.parts[0].type",
      document("", { messages: { m1: say(null, "", { parts: [{}] }) } }),
    ],
    [
      "document.messages.m1.parts[0].text",
      document("", { messages: { m1: say(null, "", { parts: [{ type: "text" }] }) } }),
    ],
    [
      "document.messages.m1.parts[1].data",
      document("", {
        messages: {
          m1: say(null, "", { parts: [{ type: "sources" }, { type: "image", data: "http://x" }] }),
        },
      }),
    ],
    ["document.messages.m1.at", document("", { messages: { m1: say(null, "", { at: "now" }) } })],
    [
      "document.messages.m1.state",
      document("", { messages: { m1: say(null, "", { state: "new" }) } }),
    ],
    ["document.messages.m1.usage", document("", { messages: { m1: say(null, "", { usage: 3 }) } })],
    [
      "document.messages.m1.request_id",
      document("", { messages: { m1: say(null, "", { request_id: {} }) } }),
    ],
  ])("with a fault in %s is refused: %#", async (param, wrong) => {
    const answer = await as(ada, "POST", "/api/chats", { document: wrong });
    expect(refusal(answer)).toEqual([400, "invalid_value", param]);
  });

  it("of ten thousand messages is kept, and one of more refused", async () => {
    const chain = (count: number) => {
      const entries = Array.from({ length: count }, (_, at) => [
        `m${at + 1}`,
        say(at === 0 ? null : `m${at}`, ""),
      ]);
      return document("", { leaf: "m1", messages: Object.fromEntries(entries) });
    };
    expect((await as(ada, "POST", "/api/chats", { document: chain(10_000) })).status).toBe(201);
    const over = await as(ada, "POST", "/api/chats", { document: chain(10_001) });
    expect(refusal(over)).toEqual([400, "invalid_value", "document.messages"]);
    // Each would be a fault of its own, in hundreds of megabytes.
    const members = Array.from({ length: 100_000 }, (_, at) => [`k${at}`, 0]);
    const wrong = { ...document("", {}), messages: Object.fromEntries(members) };
    const refused = await as(ada, "POST", "/api/chats", { document: wrong });
    expect(refusal(refused)).toEqual([400, "invalid_value", "document.messages"]);
  });
});

describe("the chat history limit", () => {
  it("is exact with 20 tabs at once, and each replaced chat gave way to one", async () => {
    const ids = await fill(45);
    const answers = await Promise.all(Array.from({ length: 20 }, () => create()));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    expect((await list()).kept).toBe(50);
    const gone = answers.flatMap(({ body }) => body.replaced.map(({ id }: { id: string }) => id));
    expect(gone.sort()).toEqual(ids.slice(0, 15));
  });

  it("announces which chat gives way, and replaces no other than the announced", async () => {
    const [oldest, second, third] = await fill(50);
    await as(ada, "PATCH", `/api/chats/${oldest}`, { pinned: true });
    await as(ada, "PUT", `/api/chats/${second}`, { document: document("touched"), if_revision: 1 });
    const { next_replaced: next } = await list();
    expect(next).toEqual([{ id: third, title: WORD }]);
    const wrong = { document: document(), replaces: [oldest] };
    expect(refusal(await as(ada, "POST", "/api/chats", wrong))).toEqual([
      409,
      "changed_meanwhile",
      "replaces",
    ]);
    const right = { document: document(), replaces: [third] };
    expect((await as(ada, "POST", "/api/chats", right)).body.replaced).toEqual(next);
    expect((await list()).kept).toBe(50);
  });

  it("keeps no chat beside 50 pinned ones, and says so", async () => {
    await fill(50, true);
    expect(await list()).toMatchObject({ keeps_next: false, next_replaced: [], kept: 50 });
    const refused = await create();
    expect(refusal(refused)).toEqual([409, "chat_not_kept", null]);
    expect(refused.body.error.message).toContain("unpin or delete 1 of the pinned ones");
    expect((await list()).kept).toBe(50);
  });

  it("of 0 keeps none, and leaves what was kept to be read and deleted", async () => {
    const id = await made();
    limit = 0;
    expect(await list()).toMatchObject({ kept: 1, limit: 0, keeps_next: false });
    expect(refusal(await create())).toEqual([409, "chat_not_kept", null]);
    const save = { document: document(), if_revision: 1 };
    expect(refusal(await as(ada, "PUT", `/api/chats/${id}`, save))).toEqual([
      409,
      "chat_not_kept",
      null,
    ]);
    expect((await as(ada, "GET", `/api/chats/${id}`)).status).toBe(200);
    expect((await as(ada, "DELETE", `/api/chats/${id}`)).status).toBe(204);
  });

  it("that was lowered removes nothing until the next chat, which announces all that give way", async () => {
    const ids = await fill(10);
    await as(ada, "PATCH", `/api/chats/${ids[0]}`, { pinned: true });
    limit = 4;
    const { kept, next_replaced: next } = await list();
    expect([kept, next.map(({ id }: { id: string }) => id)]).toEqual([10, ids.slice(1, 8)]);
    expect((await create()).body.replaced).toEqual(next);
    expect((await list()).kept).toBe(4);
  });

  it("that was lowered below the pinned ones says how many of them must go", async () => {
    const ids = await fill(10, true);
    for (const id of ids.slice(6)) await as(ada, "PATCH", `/api/chats/${id}`, { pinned: false });
    limit = 4;
    expect(await list()).toMatchObject({ kept: 10, pinned: 6, limit: 4, keeps_next: false });
    const { message } = (await create()).body.error;
    expect(message).toContain("10 are kept, 6 of them pinned, and 4 are allowed");
    expect(message).toContain("unpin or delete 3 of the pinned ones");
    for (const id of ids.slice(0, 2)) await as(ada, "DELETE", `/api/chats/${id}`);
    expect((await create()).status).toBe(409);
    await as(ada, "PATCH", `/api/chats/${ids[2]}`, { pinned: false });
    expect((await create()).status).toBe(201);
    expect(await list()).toMatchObject({ kept: 4, pinned: 3 });
  });
});

describe("what was said in a chat", () => {
  it("is in no table in clear, no audit entry and no metric", async () => {
    await made();
    await create(ada, `${WORD} again`);
    const before = await as(admin, "GET", "/api/admin/audit?limit=1");
    await as(ada, "DELETE", "/api/chats");
    const id = await made();
    expect((await as(admin, "GET", "/api/admin/audit?limit=1")).text).toBe(before.text);
    const tables = await db().execute<{ name: string }>(
      sql`select tablename as name from pg_tables where schemaname = 'public'`,
    );
    const hex = Buffer.from(WORD).toString("hex");
    for (const { name } of tables) {
      const rows = await db().execute<{ row: string }>(
        sql.raw(`select t::text as row from "${name}" t`),
      );
      const text = rows.map(({ row }) => row).join("\n");
      for (const word of [WORD, hex]) expect([name, text.includes(word)]).toEqual([name, false]);
    }
    const metrics = await fetch(`${served.url}/metrics`);
    expect(await metrics.text()).not.toContain(WORD);
    expect((await as(ada, "GET", `/api/chats/${id}`)).text).toContain(WORD);
  });

  it("does not open in the place of another chat, of another owner, or when it is damaged", async () => {
    const [one, other, bens] = [await made(), await made(), await made(ben)];
    const swap = (from: string, to: string) =>
      db().execute(sql`
        update chats set sealed_title = s.sealed_title, sealed_document = s.sealed_document
        from chats s where s.id = ${from} and chats.id = ${to}`);
    const unopened = async (token: string, id: string) => {
      const answer = await as(token, "GET", `/api/chats/${id}`);
      expect(refusal(answer)).toEqual([409, "chat_unreadable", null]);
      expect(answer.body.error.message).toContain("APP_SECRET");
    };
    await swap(one, other);
    await unopened(ada, other);
    await swap(one, bens);
    await unopened(ben, bens);
    await db().execute(
      sql`update chats set sealed_document = set_byte(sealed_document, 20, 255 - get_byte(sealed_document, 20)) where id = ${one}`,
    );
    await unopened(ada, one);
    const { data } = await list();
    expect(data.map(({ title }: { title: string | null }) => title).sort()).toEqual(
      [WORD, null].sort(),
    );
    // It is saved over, or deleted.
    const save = { document: document(), if_revision: 1 };
    expect((await as(ada, "PUT", `/api/chats/${other}`, save)).status).toBe(200);
    expect((await as(ada, "GET", `/api/chats/${other}`)).status).toBe(200);
    expect((await as(ben, "DELETE", `/api/chats/${bens}`)).status).toBe(204);
  });

  it("goes with its user", async () => {
    const cara = await addUser("cara");
    await made(cara.token);
    const owned = (id: string) =>
      db().execute<{ count: number }>(
        sql`select count(*)::int as count from chats where owner_id = ${id}`,
      );
    expect((await owned(cara.id))[0]?.count).toBe(1);
    expect((await as(admin, "DELETE", `/api/admin/users/${cara.id}`)).status).toBe(204);
    expect((await owned(cara.id))[0]?.count).toBe(0);
    expect((await owned(adaId))[0]?.count).toBe(0);
  });
});
