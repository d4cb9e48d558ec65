import OpenAI, { APIError } from "openai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { vectorStores } from "../../../src/db/tables/knowledge.ts";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";
import { addKey, addPerson, type Person } from "../../support/stages/usage/usage-people.ts";

const PATH = "/v1/assistants";
const UNKNOWN = "asst_0000000000000000000000";

const stores: [string, string | undefined][] = [["the embedded database", undefined]];
if (databaseServerUrl !== undefined) stores.push(["PostgreSQL", databaseServerUrl]);

describe.each(stores)("4.1 /v1/assistants on %s", (_name, serverUrl) => {
  let simulator: TestSimulator;
  let served: ServedDeps;
  let admin: string;
  let owner: Person;
  let other: Person;
  let ownerKey: string;
  let number = 0;

  const call = (request: HttpCall) => callHttp(served.url, { token: owner.token, ...request });
  const post = (body: unknown, token = owner.token, path = PATH) =>
    call({ method: "POST", path, body, token });
  /** An assistant that was created, by default one of the owner's with a name of its own. */
  const created = async (body: Record<string, unknown> = {}, token = owner.token) => {
    number += 1;
    const answer = await post({ name: `assistant ${number}`, ...body }, token);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    return answer.body;
  };
  const refused = async (body: unknown, token = owner.token, path = PATH) => {
    const { status, body: answer } = await post(body, token, path);
    return [status, answer.error?.code, answer.error?.param];
  };
  const client = (apiKey: string) =>
    new OpenAI({ apiKey, baseURL: `${served.url}/v1`, maxRetries: 0 });
  const modelNames = async (token: string) => {
    const { body } = await call({ path: "/v1/models", token });
    return body.data.map(({ id }: { id: string }) => id) as string[];
  };

  beforeAll(async () => {
    simulator = await startSimulator({
      models: ["first", "Zweites:latest"].map((name) => ({
        name,
        contextLength: 8_192,
        capabilities: ["completion"],
      })),
    });
    served = await serveDeps(serverUrl, { LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url });
    admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
    owner = await addPerson(served.url, admin, "owner");
    other = await addPerson(served.url, admin, "other");
    ownerKey = (await addKey(served.url, owner.token, "owner's")).key;
    const store = { embeddingModel: "m", visibility: "private" } as const;
    await served.deps.access.database.ask((db) =>
      db.insert(vectorStores).values([
        { ...store, id: "vs_owner", name: "owner's", ownerId: owner.id },
        { ...store, id: "vs_other", name: "other's", ownerId: other.id },
        { ...store, id: "vs_all", name: "all", ownerId: other.id, visibility: "everyone" },
      ]),
    );
  });
  afterAll(async () => {
    await served?.close();
    await simulator?.stop();
  });

  it("creates, shows, changes, lists and deletes an assistant with the official client, unmodified", async () => {
    const { assistants } = client(ownerKey).beta;
    const made = await assistants.create({
      model: "first",
      name: "Schreiber 📝",
      description: "writes",
      instructions: "Be brief.",
      tools: [
        { type: "file_search" },
        { type: "function", function: { name: "search_knowledge" } },
      ],
      tool_resources: { file_search: { vector_store_ids: ["vs_owner", "vs_all"] } },
      metadata: { team: "a" },
      temperature: 0.5,
      top_p: 0.9,
      reasoning_effort: "minimal",
      response_format: { type: "json_object" },
    });
    expect(made).toEqual({
      id: expect.stringMatching(/^asst_[0-9A-Za-z]{22}$/),
      object: "assistant",
      created_at: expect.any(Number),
      name: "Schreiber 📝",
      description: "writes",
      model: "first",
      instructions: "Be brief.",
      tools: [
        { type: "file_search" },
        { type: "function", function: { name: "search_knowledge" } },
      ],
      tool_resources: { file_search: { vector_store_ids: ["vs_owner", "vs_all"] } },
      metadata: { team: "a" },
      temperature: 0.5,
      top_p: 0.9,
      reasoning_effort: "low",
      response_format: { type: "json_object" },
      ext: {
        slug: "schreiber",
        owner_id: owner.id,
        visibility: "private",
        tools: ["search_knowledge"],
        max_level: "read_only",
        sql_connections: [],
        file_connections: [],
        grounding: null,
        top_k: null,
        min_similarity: null,
        no_answer_text: null,
      },
    });
    expect(Math.abs(made.created_at - Date.now() / 1_000)).toBeLessThan(60);
    expect(await assistants.retrieve(made.id)).toEqual(made);
    const changed = await assistants.update(made.id, {
      name: "Editor",
      model: null as unknown as string,
      tools: [],
      tool_resources: { file_search: { vector_store_ids: [] } },
      response_format: "auto",
      metadata: null,
    });
    expect(changed).toEqual({
      ...made,
      name: "Editor",
      model: null,
      tools: [],
      tool_resources: {},
      response_format: "auto",
      metadata: {},
      ext: { ...(made as unknown as { ext: object }).ext, tools: [] },
    });
    const listed = [];
    for await (const each of assistants.list({ limit: 1 })) listed.push(each.id);
    expect(listed).toContain(made.id);
    expect(await assistants.delete(made.id)).toEqual({
      id: made.id,
      object: "assistant.deleted",
      deleted: true,
    });
    const gone = await assistants.retrieve(made.id).catch((thrown: unknown) => thrown);
    expect(gone).toBeInstanceOf(APIError);
    expect(gone).toMatchObject({ status: 404, code: "not_found" });
  });

  it("has every field at its default, and our own fields in ext", async () => {
    const { body } = await post({});
    expect(body).toMatchObject({
      name: null,
      model: null,
      tools: [],
      tool_resources: {},
      metadata: {},
      response_format: "auto",
      ext: {
        visibility: "private",
        max_level: "read_only",
        slug: expect.stringMatching(/^assistant/),
      },
    });
    const ext = { grounding: "strict", top_k: 7, min_similarity: 0.4, no_answer_text: "No." };
    const set = await post({ ext }, owner.token, `${PATH}/${body.id}`);
    expect(set.body.ext).toMatchObject(ext);
    const reset = await post({ ext: { top_k: null } }, owner.token, `${PATH}/${body.id}`);
    expect(reset.body.ext).toEqual({ ...set.body.ext, top_k: null });
    const schema = { name: "x", schema: { pattern: "[^\\u0000]\u{1F600}" } };
    const format = { type: "json_schema", json_schema: schema };
    const answer = await post({ response_format: format }, owner.token, `${PATH}/${body.id}`);
    expect(answer.body.response_format).toEqual(format);
  });

  it("takes back what it showed, and changes nothing by that", async () => {
    const shown = await created({
      instructions: "x".repeat(256_000),
      ext: { tools: ["search_knowledge"] },
    });
    const { id, object: _o, created_at: _c, ext, ...fields } = shown;
    const { slug: _s, owner_id: _i, ...settable } = ext;
    const answer = await post({ ...fields, ext: settable }, owner.token, `${PATH}/${id}`);
    expect(answer.body).toEqual(shown);
  });

  it.each<[string, unknown, number, string | undefined]>([
    ["an unknown field", { threads: [] }, 400, "threads"],
    ["a name that is too long", { name: "n".repeat(257) }, 400, "name"],
    ["an empty name", { name: "" }, 400, "name"],
    ["a name of spaces", { name: " \u3000" }, 400, "name"],
    ["a name with a line break", { name: "a\nb" }, 400, "name"],
    ["a name like an id", { name: " ASST_1" }, 400, "name"],
    ["a model's name", { name: "FIRST " }, 400, "name"],
    ["a model's name without its tag", { name: "ｚweites" }, 400, "name"],
    ["a model that is not listed", { model: "gpt-4" }, 400, "model"],
    ["an empty model", { model: "" }, 400, "model"],
    ["a description that is too long", { description: "d".repeat(513) }, 400, "description"],
    ["instructions that are too long", { instructions: "i".repeat(256_001) }, 400, "instructions"],
    ["instructions with NUL", { instructions: "a\0" }, 400, "instructions"],
    ["code_interpreter", { tools: [{ type: "code_interpreter" }] }, 400, "tools[0].type"],
    [
      "the files of code_interpreter",
      { tool_resources: { code_interpreter: { file_ids: [] } } },
      400,
      "tool_resources.code_interpreter",
    ],
    [
      "a function of the client",
      { tools: [{ type: "function", function: { name: "get_weather" } }] },
      400,
      "ext.tools",
    ],
    ["a tool that does not exist", { ext: { tools: ["get_weather"] } }, 400, "ext.tools"],
    ["a pattern within a name", { ext: { tools: ["a*b"] } }, 400, "ext.tools[0]"],
    [
      "a function that ext.tools does not name",
      {
        tools: [{ type: "function", function: { name: "search_knowledge" } }],
        ext: { tools: ["mcp_*"] },
      },
      400,
      "tools",
    ],
    [
      "21 vector stores",
      { tool_resources: { file_search: { vector_store_ids: Array(21).fill("vs_owner") } } },
      400,
      "tool_resources.file_search.vector_store_ids",
    ],
    [
      "a vector store in place",
      { tool_resources: { file_search: { vector_stores: [{ file_ids: [] }] } } },
      400,
      "tool_resources.file_search.vector_stores",
    ],
    [
      "a vector store that does not exist",
      { tool_resources: { file_search: { vector_store_ids: ["vs_owner", "vs_none"] } } },
      404,
      "tool_resources.file_search.vector_store_ids",
    ],
    [
      "NUL in the id of a vector store",
      { tool_resources: { file_search: { vector_store_ids: ["vs_owner", "vs_\0"] } } },
      400,
      "tool_resources.file_search.vector_store_ids[1]",
    ],
    [
      "17 pairs",
      { metadata: Object.fromEntries([...Array(17).keys()].map((n) => [n, ""])) },
      400,
      "metadata",
    ],
    ["a pair that is too long", { metadata: { a: "v".repeat(513) } }, 400, "metadata.a"],
    ["NUL in a pair", { metadata: { a: "\0" } }, 400, "metadata"],
    ["half a character in a pair", { metadata: { a: "\ud83d" } }, 400, "metadata"],
    ["a temperature of 2.1", { temperature: 2.1 }, 400, "temperature"],
    ["a top_p of 1.1", { top_p: 1.1 }, 400, "top_p"],
    ["an unknown effort", { reasoning_effort: "heroic" }, 400, "reasoning_effort"],
    ["an unknown format", { response_format: { type: "yaml" } }, 400, "response_format.type"],
    ["a slug", { ext: { slug: "mine" } }, 400, "ext.slug"],
    ["an owner", { ext: { owner_id: "usr_1" } }, 400, "ext.owner_id"],
    ["an unknown level", { ext: { max_level: "root" } }, 400, "ext.max_level"],
    ["a similarity above 1", { ext: { min_similarity: 2 } }, 400, "ext.min_similarity"],
  ])("refuses %s and names it", async (_, body, status, param) => {
    expect(await refused(body, admin)).toEqual([status, expect.any(String), param]);
  });

  it("refuses a vector store of another user, which for the owner does not exist", async () => {
    const body = { tool_resources: { file_search: { vector_store_ids: ["vs_other"] } } };
    expect((await refused(body)).slice(0, 2)).toEqual([404, "not_found"]);
    expect((await refused(body, other.token))[0]).toBe(200);
    // The assistant could not search it, whoever adds it.
    const { id } = await created();
    const added = await refused(body, admin, `${PATH}/${id}`);
    expect(added.slice(0, 2)).toEqual([400, "invalid_value"]);
    expect((await refused(body, admin))[0]).toBe(200);
  });

  it("keeps names apart, whatever their case, width, composition and invisible characters", async () => {
    const made = await created({ name: "Vertrieb Süd" });
    for (const name of [
      "Vertrieb Süd",
      "VERTRIEB SÜD",
      " vertrieb süd\u00a0",
      "Ｖertrieb Süd",
      "Vertrieb Su\u0308d",
      "\u200bVertrieb Süd",
      "Ver\u00adtrieb \u2060Süd\u3164",
      made.ext.slug,
      made.ext.slug.toUpperCase(),
    ]) {
      expect([name, ...(await refused({ name }, other.token))]).toEqual([
        name,
        400,
        "invalid_value",
        "name",
      ]);
    }
    const renamed = await post({ name: "VERTRIEB Süd" }, owner.token, `${PATH}/${made.id}`);
    expect(renamed.body).toMatchObject({ name: "VERTRIEB Süd", ext: { slug: "vertrieb-süd" } });
    const unnamed = await post({ name: null }, owner.token, `${PATH}/${made.id}`);
    expect(unnamed.body).toMatchObject({ name: null, ext: { slug: "vertrieb-süd" } });
    // The slug is still another assistant's, and the name is free.
    expect((await created({ name: "Vertrieb (Süd)" })).ext.slug).toBe("vertrieb-süd-2");
    expect((await created({ name: "first!" })).ext.slug).toBe("first-2");
  });

  it("gives one of two that are created at once the name", async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post({ name: "only one" })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
  });

  it("does not exist for other users, and for administrators does", async () => {
    const { id, name } = await created();
    const path = `${PATH}/${id}`;
    for (const method of ["GET", "POST", "DELETE"]) {
      const body = method === "POST" ? { name: "taken over" } : undefined;
      const answer = await call({ method, path, token: other.token, ...(body && { body }) });
      expect([method, answer.status, answer.body.error.code]).toEqual([method, 404, "not_found"]);
    }
    expect(await modelNames(other.token)).not.toContain(name);
    expect(await modelNames(ownerKey)).toContain(name);
    expect((await call({ path, token: admin })).body.name).toBe(name);
    expect((await post({ name: "by admin" }, admin, path)).body.ext.owner_id).toBe(owner.id);
    expect((await call({ method: "DELETE", path, token: admin })).status).toBe(200);
    expect((await call({ path: `${PATH}/${UNKNOWN}` })).status).toBe(404);
  });

  it("is shared by administrators, and then used but not changed by others", async () => {
    const { id, name } = await created();
    const path = `${PATH}/${id}`;
    const share = { ext: { visibility: "everyone" } };
    expect((await refused(share, owner.token, path)).slice(0, 2)).toEqual([
      403,
      "insufficient_permission",
    ]);
    expect((await post(share, admin, path)).status).toBe(200);
    expect((await call({ path, token: other.token })).body.name).toBe(name);
    expect(await modelNames(other.token)).toContain(name);
    expect((await refused({ name: "x" }, other.token, path))[0]).toBe(403);
    expect((await call({ method: "DELETE", path, token: other.token })).status).toBe(403);
    // The owner sends it back as it is, and may take it back.
    expect((await refused(share, owner.token, path))[0]).toBe(200);
    await post({ ext: { visibility: "private" } }, owner.token, path);
    expect((await call({ path, token: other.token })).status).toBe(404);
  });

  it.each([
    ["ext.visibility", { visibility: "everyone" }],
    ["ext.tools", { tools: ["*"] }],
    ["ext.tools", { tools: ["search_*"] }],
    ["ext.sql_connections", { sql_connections: ["crm"] }],
    ["ext.file_connections", { file_connections: ["reports"] }],
    ["ext.max_level", { max_level: "write" }],
  ])("gets %s from administrators alone: %j", async (param, ext) => {
    expect(await refused({ ext })).toEqual([403, "insufficient_permission", param]);
    const given = await post({ ext }, admin);
    expect(given.body.ext).toMatchObject(ext);
    await call({ method: "DELETE", path: `${PATH}/${given.body.id}`, token: admin });
  });

  describe("from a key of an administrator", () => {
    const ALL = { tools: ["*"], sql_connections: ["*"] };
    const keyOf = async (rights: Record<string, unknown>) =>
      (await addKey(served.url, admin, "an administrator's", rights)).key;
    const had = {
      ...{ tools: ["mcp_a_*"], sql_connections: ["crm"], file_connections: ["reports"] },
      max_level: "write",
    };

    it.each([
      ["ext.max_level", {}, { max_level: "full_auto" }],
      ["ext.tools", {}, { tools: ["*"] }],
      ["ext.sql_connections", {}, { sql_connections: ["*"] }],
      ["ext.file_connections", {}, { file_connections: ["inbox"] }],
      ["ext.tools", { tools: ["find_*"], sql_connections: [] }, { tools: ["mcp_b_*"] }],
      ["ext.file_connections", { ...ALL, tools: ["find_*"] }, { file_connections: ["inbox"] }],
    ])("gets no %s beyond the scope %j: %j", async (param, scope, ext) => {
      const token = await keyOf({
        ...{ max_level: "write", tool_scope: { tools: [], sql_connections: [], ...scope } },
      });
      expect(await refused({ ext }, token)).toEqual([403, "insufficient_permission", param]);
      const { id } = await created({ ext: had }, admin);
      const path = `${PATH}/${id}`;
      expect(await refused({ ext }, token, path)).toEqual([403, "insufficient_permission", param]);
      // What it had may stay, and become less.
      const less = { ...had, tools: ["mcp_a_x_*", "search_knowledge"], max_level: "read_only" };
      expect((await post({ ext: less }, token, path)).body.ext).toMatchObject(less);
    });

    it("gets nothing more while it may do more than the key", async () => {
      const token = await keyOf({ tool_scope: ALL });
      const { id } = await created({ ext: had }, admin);
      const path = `${PATH}/${id}`;
      for (const name of ["tools", "sql_connections", "file_connections"] as const) {
        const ext = { [name]: [...had[name], "search_knowledge", "inbox_*"] };
        expect(await refused({ ext }, token, path)).toEqual([
          ...[403, "insufficient_permission", `ext.${name}`],
        ]);
      }
      const ext = { max_level: "read_only", tools: ["*"] };
      expect((await post({ ext }, token, path)).body.ext).toMatchObject(ext);
    });

    it("gets what the key has", async () => {
      const token = await keyOf({ max_level: "full_auto", tool_scope: ALL });
      const ext = { ...had, max_level: "full_auto" };
      expect((await created({ ext }, token)).ext).toMatchObject(ext);
    });
  });

  it("may be narrowed by its owner, and not widened again", async () => {
    const { id } = await created();
    const path = `${PATH}/${id}`;
    const ext = {
      tools: ["mcp_*", "search_knowledge"],
      sql_connections: ["a", "b"],
      max_level: "write",
    };
    await post({ ext }, admin, path);
    const less = { tools: ["mcp_crm_*"], sql_connections: ["b"], max_level: "read_only" };
    expect((await post({ ext: less }, owner.token, path)).body.ext).toMatchObject(less);
    for (const [name, value] of Object.entries(ext)) {
      expect(await refused({ ext: { [name]: value } }, owner.token, path)).toEqual([
        403,
        "insufficient_permission",
        `ext.${name}`,
      ]);
    }
    // `tools` sets the exact names and leaves the patterns.
    const tools = [{ type: "function", function: { name: "search_knowledge" } }];
    const mirrored = await post({ tools }, owner.token, path);
    expect(mirrored.body).toMatchObject({
      tools,
      ext: { tools: ["search_knowledge", "mcp_crm_*"] },
    });
  });

  it("gets no tool back that another change takes away at the same time", async () => {
    const { id } = await created();
    const path = `${PATH}/${id}`;
    await post({ ext: { tools: ["mcp_*"] } }, admin, path);
    const { models } = served.deps.knowledge.assistants;
    const list = models.list.bind(models);
    const listing = vi.spyOn(models, "list");
    // The models are listed between the first reading of the record and the transaction.
    listing.mockImplementationOnce(async () => {
      const other = await post({ ext: { tools: [] } }, admin, path);
      expect(other.body.ext.tools).toEqual([]);
      return list();
    });
    const kept = await post({ tools: [] }, admin, path);
    expect([kept.status, kept.body.ext.tools]).toEqual([200, []]);
    expect(listing.mock.calls.length).toBeGreaterThan(1);
    listing.mockRestore();
  });

  it("is not managed with a bound key", async () => {
    const { id } = await created();
    const bound = await call({
      method: "POST",
      path: "/v1/api-keys",
      body: { name: "bound", assistant_id: id },
    });
    const token = bound.body.key;
    const routes = [
      ["GET", PATH],
      ["POST", PATH],
      ["GET", `${PATH}/${id}`],
      ["POST", `${PATH}/${id}`],
      ["DELETE", `${PATH}/${id}`],
    ] as const;
    for (const [method, path] of routes) {
      const body = method === "POST" ? { instructions: "Obey." } : undefined;
      const { status, body: answer } = await call({ method, path, token, ...(body && { body }) });
      expect([method, path, status, answer.error?.code]).toEqual([
        method,
        path,
        403,
        "insufficient_permission",
      ]);
    }
  });

  it("is listed for a bound key alone among the models, and nothing is once it is deleted", async () => {
    const { id, name, ext } = await created({ model: "first", description: "d" });
    const bound = await call({
      method: "POST",
      path: "/v1/api-keys",
      body: { name: "bound", assistant_id: id },
    });
    const token = bound.body.key;
    const list = await call({ path: "/v1/models", token });
    expect(list.body.data).toMatchObject([
      {
        id: name,
        object: "model",
        owned_by: "assistant",
        max_input_tokens: 8_192,
        ext: { assistant_id: id, slug: ext.slug, description: "d" },
      },
    ]);
    expect((await call({ path: "/v1/models?type=embedding", token })).body.data).toEqual([]);
    for (const word of [id, name, ext.slug, name.toUpperCase()]) {
      const one = await call({ path: `/v1/models/${encodeURIComponent(word)}`, token });
      expect(one.body.id).toBe(name);
    }
    expect((await call({ path: "/v1/models/first", token })).status).toBe(404);
    expect(await modelNames(owner.token)).toEqual(expect.arrayContaining(["first", name]));
    await call({ method: "DELETE", path: `${PATH}/${id}` });
    expect((await call({ path: "/v1/models", token })).body.data).toEqual([]);
    expect((await call({ path: `/v1/models/${id}`, token })).status).toBe(404);
    // The binding stays, because the key would call every model without it.
    const key = await call({ path: `/v1/api-keys/${bound.body.id}` });
    expect(key.body.assistant_id).toBe(id);
  });

  it("gives way to a model that is listed under its name later, and is shown under its id", async () => {
    const { id } = await created();
    const { access, knowledge } = served.deps;
    await access.database.ask(async (db) => {
      await db.execute(`update assistants set name = 'first', name_key = 'first',
        change_seq = (select seq + 1 from change_counters where name = 'assistants') where id = '${id}'`);
      await db.execute("update change_counters set seq = seq + 1 where name = 'assistants'");
    });
    await knowledge.assistants.catchUp();
    const names = await modelNames(owner.token);
    expect(names.filter((name) => name === "first")).toHaveLength(1);
    expect(names).toContain(id);
    const card = await call({ path: "/v1/models/first" });
    expect(card.body.owned_by).not.toBe("assistant");
    expect((await call({ path: `/v1/models/${id}` })).body.owned_by).toBe("assistant");
    await call({ method: "DELETE", path: `${PATH}/${id}` });
  });

  it("is paged through among the models, by either family's cursor", async () => {
    const made = [await created(), await created()];
    const all = await modelNames(owner.token);
    const paged: string[] = [];
    for (let after = ""; ; ) {
      const { body } = await call({ path: `/v1/models?limit=3${after}` });
      paged.push(...body.data.map(({ id }: { id: string }) => id));
      if (!body.has_more) break;
      after = `&after_id=${encodeURIComponent(body.last_id)}`;
    }
    expect(paged).toEqual(all);
    expect(all).toEqual(expect.arrayContaining(made.map(({ name }) => name)));
    expect(all.slice(0, 2).sort()).toEqual(["Zweites:latest", "first"]);
  });

  it("leaves its changes in the audit log, and its texts not", async () => {
    const { id } = await created({ instructions: "the secret recipe" });
    await post(
      { instructions: "another secret recipe", name: `of ${id}` },
      owner.token,
      `${PATH}/${id}`,
    );
    await post({}, owner.token, `${PATH}/${id}`);
    await call({ method: "DELETE", path: `${PATH}/${id}` });
    const { body, text } = await call({
      path: "/api/admin/audit?limit=1000&target_kind=assistant",
      token: admin,
    });
    const actions = body.data
      .filter(({ target }: { target: { id: string } }) => target.id === id)
      .map(({ action }: { action: string }) => action);
    expect(actions).toEqual(["assistant.delete", "assistant.update", "assistant.create"]);
    expect(text).not.toContain("secret recipe");
  });

  it("goes through 1,001 assistants in pages, forwards and backwards", async () => {
    const person = await addPerson(served.url, admin, "collector");
    await served.deps.access.database.ask((db) =>
      db.execute(`insert into assistants (id, owner_id, name_key, slug, created_at, change_seq)
        select 'asst_page' || i, '${person.id}', 'asst_page' || i, 'page-' || i,
          timestamptz '2026-01-01' + (i / 10) * interval '1 second', 1
        from generate_series(1, 1001) as i`),
    );
    const all = async (query: string, cursor: "after" | "before", from = "") => {
      const pages: string[][] = [];
      for (let place = from; ; ) {
        const { body } = await call({ path: `${PATH}?${query}${place}`, token: person.token });
        const ids = body.data.map(({ id }: { id: string }) => id);
        expect([body.first_id, body.last_id]).toEqual([ids[0] ?? null, ids.at(-1) ?? null]);
        pages.push(ids);
        if (!body.has_more) return pages;
        place = `&${cursor}=${cursor === "after" ? body.last_id : body.first_id}`;
      }
    };
    const down = (await all("limit=100", "after")).flat();
    expect(new Set(down).size).toBe(1_001);
    const up = (await all("limit=97&order=asc", "after")).flat();
    expect(up).toEqual([...down].reverse());
    const back = await all("limit=100", "before", `&before=${down.at(-1)}`);
    expect(back.reverse().flat()).toEqual(down.slice(0, -1));
    expect((await all("", "after"))[0]).toHaveLength(20);
    for (const query of [
      "limit=0",
      "limit=101",
      "order=up",
      "after=asst_none",
      "before=asst_none",
      "offset=1",
    ]) {
      const { status, body } = await call({ path: `${PATH}?${query}`, token: person.token });
      expect([status, body.error.param]).toEqual([400, query.split("=")[0]]);
    }
    const theirs = await call({ path: `${PATH}?after=${down[0]}`, token: other.token });
    expect(theirs.status).toBe(400);
    // A user has a hundred, and these are more.
    expect((await refused({}, person.token)).slice(0, 2)).toEqual([400, "invalid_value"]);
  });
});
