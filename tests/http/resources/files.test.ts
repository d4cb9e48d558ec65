import { createHash, randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { FILE_FORM_TYPE, type FileForm, fileForm } from "../../support/clients/file-form.ts";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import { openRawClient, rawRequest } from "../../support/clients/raw-client.ts";
import { openPaths } from "../../support/processes/process-use.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const ADMIN_PASSWORD = "the administrator's own";
const MAX_BYTES = 2 * 1024 * 1024;
const WAIT = { timeout: 20_000, interval: 20 };
const UNKNOWN = "/v1/files/file-0000000000000000000000";
let gateway: TestGateway;
let filesDir: string;
let client: OpenAI;
let user: string;

const call = (request: HttpCall) => callHttp(gateway.url, { token: TEST_KEY, ...request });

beforeAll(async () => {
  filesDir = await mkdtemp(join(tmpdir(), "files-"));
  gateway = await startGateway({
    ADMIN_PASSWORD,
    TRUST_PROXY: "1",
    FILES_DIR: join(filesDir, "shared"),
    FILE_MAX_BYTES: String(MAX_BYTES),
    LLM_BASE_URL: "http://127.0.0.1:9",
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: TEST_KEY, maxRetries: 0 });
  const admin = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
  const named = { username: "user", password: "the first password" };
  await call({ method: "POST", path: "/api/admin/users", body: named, token: admin });
  const changed = await call({
    method: "POST",
    path: "/api/auth/password",
    token: await logIn(gateway.url, named.username, named.password),
    body: { current_password: named.password, new_password: "the user's own" },
  });
  user = changed.body.token;
});

afterAll(async () => {
  await gateway?.stop();
  await rm(filesDir, { recursive: true, force: true });
});

/** The paths of the contents and drafts in FILES_DIR. */
function stored(): string[] {
  const entries = readdirSync(join(filesDir, "shared"), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name !== "folder-id")
    .map(({ parentPath, name }) => join(parentPath, name));
}

const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");
const isStored = (content: string | Uint8Array) =>
  stored().some((path) => path.endsWith(sha256(content)));

async function upload(form: FileForm = {}, token = TEST_KEY) {
  const response = await fetch(`${gateway.url}/v1/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": FILE_FORM_TYPE },
    body: fileForm(form),
  });
  return {
    status: response.status,
    // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies that they then compare
    body: (await response.json()) as any,
  };
}

async function download(id: string): Promise<Buffer> {
  return Buffer.from(await (await client.files.content(id)).arrayBuffer());
}

describe("4.6 /v1/files by the official client", () => {
  it("takes a file, shows it, gives it back and deletes it", async () => {
    const content = randomBytes(300_000);
    const created = await client.files.create({
      file: await toFile(content, "Umsätze 📈.bin"),
      purpose: "assistants",
    });
    expect(created).toEqual({
      id: expect.stringMatching(/^file-[0-9A-Za-z]{22}$/),
      object: "file",
      bytes: 300_000,
      created_at: expect.any(Number),
      expires_at: null,
      filename: "Umsätze 📈.bin",
      purpose: "assistants",
      status: "processed",
      ext: { visibility: "private", owner_id: expect.stringMatching(/^usr_/) },
    });
    expect(Math.abs(created.created_at - Date.now() / 1_000)).toBeLessThan(60);
    expect(await client.files.waitForProcessing(created.id)).toEqual(created);
    expect(await client.files.retrieve(created.id)).toEqual(created);
    const response = await client.files.content(created.id);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("content-disposition")).toBe(
      "attachment; filename=\"Ums_tze __.bin\"; filename*=UTF-8''Ums%C3%A4tze%20%F0%9F%93%88.bin",
    );
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
    const head = await fetch(`${gateway.url}/v1/files/${created.id}/content`, {
      method: "HEAD",
      headers: { authorization: `Bearer ${TEST_KEY}` },
    });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(await client.files.delete(created.id)).toEqual({
      id: created.id,
      object: "file",
      deleted: true,
    });
    await expect(client.files.retrieve(created.id)).rejects.toMatchObject({ status: 404 });
    await vi.waitFor(() => expect(isStored(content)).toBe(false), WAIT);
  });

  it("lists files by pages in both orders, and by their purpose", async () => {
    const ids: string[] = [];
    for (const name of ["1", "2", "3", "4", "5"]) {
      const file = await toFile(Buffer.from(`page ${name}`), `${name}.txt`);
      ids.push((await client.files.create({ file, purpose: "evals" })).id);
    }
    for (const order of ["asc", "desc"] as const) {
      const found: string[] = [];
      for await (const { id } of client.files.list({ purpose: "evals", limit: 2, order })) {
        found.push(id);
      }
      expect(found).toEqual(order === "asc" ? ids : ids.toReversed());
    }
    const { body } = await call({ path: "/v1/files?purpose=evals&limit=2" });
    expect(body).toMatchObject({
      object: "list",
      first_id: ids[4],
      last_id: ids[3],
      has_more: true,
    });
    expect((await call({ path: "/v1/files?purpose=vision" })).body).toEqual({
      object: "list",
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it("keeps a file until it expires", async () => {
    const created = await client.files.create({
      file: await toFile(Buffer.from("for an hour"), "hour.txt"),
      purpose: "user_data",
      expires_after: { anchor: "created_at", seconds: 3_600 },
    });
    expect(created.expires_at).toBe(created.created_at + 3_600);
  });
});

describe("4.6 an upload", () => {
  it("is not stored when its key was deleted while its body came", async () => {
    const made = { method: "POST", path: "/v1/api-keys", body: { name: "short" } };
    const { body } = await call(made);
    const raw = await openRawClient(gateway.port);
    raw.send(
      rawRequest("POST", "/v1/files", {
        authorization: `Bearer ${body.key}`,
        "content-type": FILE_FORM_TYPE,
        "transfer-encoding": "chunked",
      }),
    );
    const form = fileForm({ content: "of a key that was" });
    const chunk = (bytes: Uint8Array) =>
      raw.send(
        Buffer.concat([
          Buffer.from(`${bytes.length.toString(16)}\r\n`),
          bytes,
          Buffer.from("\r\n"),
        ]),
      );
    chunk(form.subarray(0, -5));
    const deleted = await call({ method: "DELETE", path: `/v1/api-keys/${body.id}` });
    expect(deleted.status).toBe(200);
    chunk(form.subarray(-5));
    raw.send("0\r\n\r\n");
    expect((await raw.readResponse()).status).toBe(401);
    expect(isStored("of a key that was")).toBe(false);
    raw.close();
  });

  it("is taken byte by byte", async () => {
    const raw = await openRawClient(gateway.port);
    raw.send(
      rawRequest("POST", "/v1/files", {
        authorization: `Bearer ${TEST_KEY}`,
        "content-type": FILE_FORM_TYPE,
        "transfer-encoding": "chunked",
      }),
    );
    const content = `slowly\r\n--boundary-of-the-test\r\n${"x".repeat(100)}`;
    for (const byte of fileForm({ content })) {
      raw.send(Buffer.concat([Buffer.from("1\r\n"), Buffer.from([byte]), Buffer.from("\r\n")]));
    }
    raw.send("0\r\n\r\n");
    const response = await raw.readResponse();
    expect(response.status).toBe(200);
    const { id, bytes } = response.json() as { id: string; bytes: number };
    expect(bytes).toBe(content.length);
    expect((await download(id)).toString()).toBe(content);
    raw.close();
  });

  it("is one of 20 at a time that a user has; other users are not held up", async () => {
    const before = stored().length;
    const form = fileForm({ content: "slow" });
    const sockets = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const raw = await openRawClient(gateway.port);
        raw.send(
          rawRequest("POST", "/v1/files", {
            authorization: `Bearer ${TEST_KEY}`,
            "content-type": FILE_FORM_TYPE,
            "content-length": String(form.length),
          }),
        );
        raw.send(form.subarray(0, form.length - 20));
        return raw;
      }),
    );
    await vi.waitFor(() => expect(stored()).toHaveLength(before + 20), WAIT);
    const refused = await fetch(`${gateway.url}/v1/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": FILE_FORM_TYPE },
      body: form,
    });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    const { status, body: ofAnother } = await upload({ content: "of another" }, user);
    expect(status).toBe(200);
    await call({ method: "DELETE", path: `/v1/files/${ofAnother.id}` });
    for (const raw of sockets) {
      raw.send(form.subarray(form.length - 20));
      expect((await raw.readResponse()).status).toBe(200);
      raw.close();
    }
    expect((await upload({ content: "later" })).status).toBe(200);
  });

  it("may be empty, and as large as FILE_MAX_BYTES", async () => {
    for (const content of [Buffer.alloc(0), Buffer.alloc(MAX_BYTES, "m")]) {
      const { status, body } = await upload({ content });
      expect({ status, bytes: body.bytes }).toEqual({ status: 200, bytes: content.length });
      expect((await download(body.id)).equals(content)).toBe(true);
    }
  });

  it.each(["with its length", "without its length"])(
    "above FILE_MAX_BYTES is refused, %s, and leaves nothing",
    async (how) => {
      const before = stored().length;
      for (const more of [1, 3 * 1024 * 1024]) {
        const raw = await openRawClient(gateway.port);
        const body = fileForm({ content: Buffer.alloc(MAX_BYTES + more, "z") });
        const headers = { authorization: `Bearer ${TEST_KEY}`, "content-type": FILE_FORM_TYPE };
        if (how === "with its length") {
          const length = String(body.length);
          raw.send(rawRequest("POST", "/v1/files", { ...headers, "content-length": length }));
          raw.send(body);
        } else {
          raw.send(rawRequest("POST", "/v1/files", { ...headers, "transfer-encoding": "chunked" }));
          raw.send(`${body.length.toString(16)}\r\n`);
          raw.send(body);
          raw.send("\r\n0\r\n\r\n");
        }
        const response = await raw.readResponse();
        expect(response.status).toBe(413);
        expect(response.json()).toMatchObject({
          error: { code: "request_too_large", message: expect.stringContaining("FILE_MAX_BYTES") },
        });
        raw.close();
      }
      await vi.waitFor(() => expect(stored()).toHaveLength(before), WAIT);
    },
  );

  it.each(["reset", "close", "halfClose"] as const)(
    "that the client cuts by %s leaves nothing",
    async (how) => {
      const before = stored().length;
      const { body: listed } = await call({ path: "/v1/files" });
      const raw = await openRawClient(gateway.port);
      const form = fileForm({ content: Buffer.alloc(1_000_000, "cut") });
      raw.send(
        rawRequest("POST", "/v1/files", {
          authorization: `Bearer ${TEST_KEY}`,
          "content-type": FILE_FORM_TYPE,
          "content-length": String(form.length),
        }),
      );
      raw.send(form.subarray(0, 500_000));
      await vi.waitFor(() => expect(stored().length).toBe(before + 1), WAIT);
      raw[how]();
      await vi.waitFor(() => expect(stored()).toHaveLength(before), WAIT);
      raw.close();
      expect((await call({ path: "/v1/files" })).body.data).toHaveLength(listed.data.length);
    },
  );

  const wrong: [what: string, form: FileForm, param: string | null][] = [
    ["without a purpose", { fields: {} }, "purpose"],
    ["of an unknown purpose", { fields: { purpose: "fun" } }, "purpose"],
    ["with the file in another field", { field: "document" }, "document"],
    [
      "that expires too early",
      {
        fields: {
          purpose: "batch",
          "expires_after[anchor]": "created_at",
          "expires_after[seconds]": "60",
        },
      },
      "expires_after.seconds",
    ],
    [
      "that expires from another time",
      {
        fields: {
          purpose: "batch",
          "expires_after[anchor]": "now",
          "expires_after[seconds]": "3600",
        },
      },
      "expires_after.anchor",
    ],
    ...["0x1000", "4e3", " 4000", "4000.0", ""].map((seconds): (typeof wrong)[number] => [
      `that expires after ${JSON.stringify(seconds)} seconds`,
      {
        fields: {
          purpose: "batch",
          "expires_after[anchor]": "created_at",
          "expires_after[seconds]": seconds,
        },
      },
      "expires_after.seconds",
    ]),
    ["with an unknown field", { fields: { purpose: "batch", folder: "a" } }, "folder"],
    ["with an unknown nested field", { fields: { purpose: "batch", "ext[a]": "b" } }, "ext.a"],
    ["with a field that is an object and a text", { fields: { ext: "a", "ext[a]": "b" } }, "ext"],
    ["without a file name", { filename: "" }, "file"],
    ["with a file name of dots", { filename: "../.." }, "file"],
    ["with a file name of 1,000 characters", { filename: "n".repeat(1_000) }, "file"],
    ["with a field of 2,000 bytes", { fields: { purpose: "p".repeat(2_000) } }, null],
  ];
  it.each(wrong)("%s is refused and leaves nothing", async (_what, form, param) => {
    const before = stored().length;
    const { status, body } = await upload({ content: "refused", ...form });
    expect({ status, error: body.error }).toMatchObject({ status: 400, error: { param } });
    expect(stored()).toHaveLength(before);
  });

  it("without a file, with two files or without a form is refused", async () => {
    const only = new FormData();
    only.set("purpose", "assistants");
    const two = new FormData();
    two.append("file", new Blob(["1"]), "1.txt");
    two.append("file", new Blob(["2"]), "2.txt");
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    const post = (body: FormData | string) =>
      fetch(`${gateway.url}/v1/files`, { method: "POST", headers, body });
    expect((await post(only)).status).toBe(400);
    expect((await post(two)).status).toBe(400);
    expect((await post("purpose=assistants")).status).toBe(415);
    expect(stored().filter((path) => path.endsWith(".draft"))).toEqual([]);
  });

  it.each([
    ["..\\..\\etc/passwd", "passwd"],
    ["../../etc/shadow", "shadow"],
    ["a\u0000b\u0007.txt", "ab.txt"],
    ["line\nbreak\rname.txt", "linebreakname.txt"],
    ["evil\u202Etxt.exe", "eviltxt.exe"],
    ['quo\\"te.txt', 'quo"te.txt'],
    ["a%22b%0d%0Ac.txt", 'a"b  c.txt'],
    ["100%25 %2F%00.txt", "100%25 %2F%00.txt"],
    ["日本語の名前.pdf", "日本語の名前.pdf"],
    ["e\u0301té ñ 🇩🇪.md", "e\u0301té ñ 🇩🇪.md"],
  ])("called %j is called %j, and cannot break the header of its download", async (given, kept) => {
    const { status, body } = await upload({ filename: given });
    expect({ status, filename: body.filename }).toEqual({ status: 200, filename: kept });
    const response = await client.files.content(body.id);
    const disposition = response.headers.get("content-disposition") ?? "";
    expect(disposition).toMatch(/^attachment; filename="[^"\\]*"; filename\*=UTF-8''[!-~]+$/);
    expect(decodeURIComponent(disposition.split("UTF-8''")[1] ?? "")).toBe(kept);
    expect(await response.text()).toBe("some text");
  });

  it("reads a name in the extended form", async () => {
    const form = fileForm()
      .toString()
      .replace('filename="a.txt"', "filename*=UTF-8''na%C3%AFve.txt");
    const { body } = await callHttp(gateway.url, {
      ...{ method: "POST", path: "/v1/files", token: TEST_KEY, body: form },
      headers: { "content-type": FILE_FORM_TYPE },
    });
    expect(body.filename).toBe("naïve.txt");
  });

  it("reads the extended form where both are given, and the other one as it is", async () => {
    const named = (names: string) => {
      const form = fileForm().toString().replace('filename="a.txt"', names);
      return callHttp(gateway.url, {
        ...{ method: "POST", path: "/v1/files", token: TEST_KEY, body: form },
        headers: { "content-type": FILE_FORM_TYPE },
      });
    };
    const both = `filename="=?utf-8?B?w5xiZXJzaWNodC5jc3Y=?="; filename*=utf-8''%C3%9Cbersicht.csv`;
    expect((await named(both)).body.filename).toBe("Übersicht.csv");
    const percent = `filename="100%25.txt"; filename*=utf-8''100%2525.txt`;
    expect((await named(percent)).body.filename).toBe("100%25.txt");
  });
});

describe("4.6 the contents of files", () => {
  it("can be read by the server's user only", async () => {
    const content = randomBytes(64);
    await upload({ content });
    const path = stored().find((each) => each.endsWith(sha256(content))) ?? "";
    expect(statSync(path).mode & 0o777).toBe(0o600);
    for (const level of [join(path, ".."), join(path, "../.."), join(filesDir, "shared")]) {
      expect(statSync(level).mode & 0o777).toBe(0o700);
    }
  });

  it("are stored once, also when they are uploaded at once, until the last file is deleted", async () => {
    const content = randomBytes(500_000);
    const uploads = await Promise.all(Array.from({ length: 8 }, () => upload({ content })));
    expect(uploads.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(stored().filter((path) => path.endsWith(sha256(content)))).toHaveLength(1);
    const [last = "", ...others] = uploads.map(({ body }) => body.id as string);
    await Promise.all(others.map((id) => client.files.delete(id)));
    expect((await download(last)).equals(content)).toBe(true);
    await client.files.delete(last);
    await vi.waitFor(() => expect(isStored(content)).toBe(false), WAIT);
  });

  it("survive the deletion of a file beside an upload of the same content", async () => {
    const content = randomBytes(1_000);
    let { body: before } = await upload({ content });
    for (let round = 0; round < 25; round += 1) {
      const [{ body: after }] = await Promise.all([
        upload({ content }),
        client.files.delete(before.id),
      ]);
      expect((await download(after.id)).equals(content)).toBe(true);
      before = after;
    }
  });
});

describe("4.6 a download", () => {
  it("that the client breaks off, or of which it reads only the head, leaves no file open", async () => {
    const { body } = await upload({ content: randomBytes(MAX_BYTES) });
    const path = `/v1/files/${body.id}/content`;
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    const openFiles = () =>
      openPaths(gateway.pid).filter((each) => each.startsWith(filesDir)).length;
    for (let round = 0; round < 5; round += 1) {
      const raw = await openRawClient(gateway.port);
      raw.send(rawRequest("GET", path, headers));
      await raw.readUntil((received) => received.length > 100_000);
      raw.pause();
      raw.reset();
      const head = await openRawClient(gateway.port);
      head.send(rawRequest("HEAD", path, headers));
      expect((await head.readResponse({ method: "HEAD" })).status).toBe(200);
      head.close();
    }
    await vi.waitFor(() => expect(openFiles()).toBe(0), WAIT);
    expect(await download(body.id)).toHaveLength(MAX_BYTES);
    await vi.waitFor(() => expect(openFiles()).toBe(0), WAIT);
  });
});

describe("4.6 who may use a file", () => {
  it("its owner and administrators; for others it does not exist", async () => {
    const { body: own } = await upload({ content: "the user's" }, user);
    const { body: foreign } = await upload({ content: "the administrator's" });
    for (const path of [`/v1/files/${foreign.id}`, UNKNOWN]) {
      for (const [method, end] of [
        ["GET", ""],
        ["GET", "/content"],
        ["DELETE", ""],
      ] as const) {
        const { status, body } = await call({ method, path: path + end, token: user });
        expect({ status, code: body.error.code }).toEqual({ status: 404, code: "not_found" });
      }
    }
    const listed = (await call({ path: "/v1/files", token: user })).body.data;
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([own.id]);
    expect((await call({ path: `/v1/files?after=${foreign.id}`, token: user })).status).toBe(400);
    expect((await call({ path: `/v1/files/${own.id}` })).status).toBe(200);
    expect((await call({ method: "DELETE", path: `/v1/files/${own.id}` })).status).toBe(200);
  });

  it("everybody, where an administrator gives it to everyone", async () => {
    const fields = { purpose: "assistants", "ext[visibility]": "everyone" };
    const { body: shared } = await upload({ content: "shared", fields });
    expect(shared.ext).toMatchObject({ visibility: "everyone" });
    const path = `/v1/files/${shared.id}`;
    expect((await call({ path, token: user })).status).toBe(200);
    expect((await call({ path: `${path}/content`, token: user })).text).toBe("shared");
    const refused = await call({ method: "DELETE", path, token: user });
    expect(refused.body.error.code).toBe("insufficient_permission");
    const sharing = await upload({ fields }, user);
    expect(sharing.body.error).toMatchObject({ param: "ext.visibility" });
  });

  it("no key that is bound to an assistant", async () => {
    const { body: assistant } = await call({ method: "POST", path: "/v1/assistants", body: {} });
    const bound = { name: "bound", assistant_id: assistant.id };
    const { body } = await call({ method: "POST", path: "/v1/api-keys", body: bound });
    const paths = [
      ["GET", "/v1/files"],
      ["POST", "/v1/files"],
      ["GET", UNKNOWN],
      ["GET", `${UNKNOWN}/content`],
      ["DELETE", UNKNOWN],
    ] as const;
    for (const [method, path] of paths) {
      const answer = await call({ method, path, token: body.key });
      expect(answer.body.error.code).toBe("insufficient_permission");
    }
  });
});
