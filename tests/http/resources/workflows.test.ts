import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import type { KeyCaller } from "../../../src/core/callers/caller.ts";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import { workflowSecrets, workflows } from "../../../src/db/tables/workflows.ts";
import { updateWorkflow } from "../../../src/workflows/records/save-workflow.ts";
import {
  openWorkflowStage,
  PIPELINE,
  type WorkflowPerson,
  type WorkflowStage,
} from "../../support/workflows/workflow-stage.ts";

const WORKFLOWS = `${PIPELINE}/workflows`;
const STEPS = [
  { id: "orders", kind: "tiny_source", rows: [{ n: 1 }] },
  { id: "check", kind: "tiny_pick", condition: "row.n > 1" },
];
const WHOLE = { name: "orders", steps: STEPS };

let stage: WorkflowStage;
let admin: WorkflowPerson;
let owner: WorkflowPerson;
let other: WorkflowPerson;

beforeAll(async () => {
  stage = await openWorkflowStage();
  ({ admin, owner, other } = stage);
});
afterAll(() => stage?.served.close());

const create = (person: WorkflowPerson, body: unknown = WHOLE) =>
  person.call({ method: "POST", path: WORKFLOWS, body });
const patch = (person: WorkflowPerson, id: string, body: unknown) =>
  person.call({ method: "PATCH", path: `${WORKFLOWS}/${id}`, body });
const read = (person: WorkflowPerson, id: string, more = "") =>
  person.call({ path: `${WORKFLOWS}/${id}${more}` });
const faultsOf = ({ body }: { readonly body: { ext: { errors: object[] } } }) => body.ext.errors;

describe("/api/pipeline/workflows", () => {
  it("saves a workflow with its defaults, shows it, and lists it without its steps", async () => {
    const { status, body } = await create(owner);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^wf_[0-9A-Za-z]{22}$/),
      ...{ object: "workflow", name: "orders", description: null, enabled: true },
      ...{ visibility: "private", key_id: null, timeout_seconds: 3_600, keep_rows: "all" },
      ...{ owner_id: owner.id, triggers: [], steps: STEPS, version: 1, webhook: null },
      ...{ schedules: [], queued: 0, max_queued: 50, last_run: null },
      ...{ consecutive_failures: 0, discarded: {}, discarded_at: null },
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
    });
    expect((await read(owner, body.id)).body).toEqual(body);
    const { body: list } = await owner.call({ path: `${WORKFLOWS}?search=ORD&enabled=true` });
    const { triggers: _triggers, steps: _steps, ...summary } = body;
    expect(list).toMatchObject({
      object: "list",
      total: 1,
      data: [{ ...summary, trigger_kinds: [] }],
    });
    expect(list.data[0]).not.toHaveProperty("steps");
    const none = await owner.call({ path: `${WORKFLOWS}?enabled=false` });
    expect(none.body).toMatchObject({ total: 0 });
  });

  it("refuses a wrong definition with every fault at once, and saves nothing", async () => {
    const before = (await owner.call({ path: WORKFLOWS })).body.total;
    const body = {
      ...{ name: "", timeout: 5, keep_rows: "some", visibility: "everyone", key_id: "key_none" },
      triggers: [
        { kind: "schedule", cron: "never" },
        { kind: "knowledge", vector_store: "vs_none" },
        { kind: "workflow", workflow: "wf_none" },
        { kind: "dataset", dataset: "ds_none" },
        { kind: "file", path: "in/", folder: "workspace" },
      ],
      steps: [
        { id: "orders", kind: "tiny_source", rows: 1 },
        { id: "files", kind: "tiny_admin" },
        { id: "check", kind: "tiny_pick", condition: "row.n ?? 1" },
        { id: "send", kind: "tiny_sink", to: "nowhere", headers: { token: { secret: "none" } } },
      ],
    };
    const refused = await create(owner, body);
    expect(refused.status).toBe(400);
    expect(refused.body.error).toMatchObject({ code: "invalid_value", param: "name" });
    expect(faultsOf(refused)).toEqual(
      [
        [null, "name"],
        [null, "keep_rows"],
        [null, "timeout"],
        [null, "visibility"],
        [null, "triggers[0].cron"],
        [null, "triggers[1].vector_store"],
        [null, "triggers[2].workflow"],
        [null, "triggers[3].dataset"],
        [null, "triggers[4].folder"],
        [null, "key_id"],
        ["orders", "rows"],
        ["files", "kind"],
        ["check", "condition"],
        ["send", "to"],
        ["send", "headers.token"],
      ].map(([step, field]) => ({ step, field, message: expect.stringMatching(/^[A-Z'].*[.?]$/) })),
    );
    const one = await create(owner, { ...WHOLE, steps: [{ ...STEPS[0], rows: 1 }, STEPS[1]] });
    expect(one.body.error).toMatchObject({ param: "steps.orders.rows" });
    const validated = await owner.call({ method: "POST", path: `${WORKFLOWS}/validate`, body });
    expect(faultsOf(validated)).toEqual(faultsOf(refused));
    expect((await owner.call({ path: WORKFLOWS })).body.total).toBe(before);
  });

  it("keeps integers beyond 2^53 in the rows of a step as texts", async () => {
    const text = (n: string) =>
      `{"name": "large", "timeout_seconds": 60, "steps": [{"id": "orders", "kind": "tiny_source", "rows": [{"n": ${n}}]}]}`;
    const { body } = await create(owner, text("9007199254740993"));
    expect(body).toMatchObject({
      timeout_seconds: 60,
      steps: [{ rows: [{ n: "9007199254740993" }] }],
    });
    const changed = await patch(owner, body.id, text("-9007199254740995"));
    expect(changed.body.steps[0].rows).toEqual([{ n: "-9007199254740995" }]);
  });

  it("follows somebody else's dataset by its id alone, whoever the owner is", async () => {
    const columns = [{ name: "a", type: "text" }];
    const body = { name: "taken", columns };
    const { id } = (await other.call({ method: "POST", path: "/api/datasets", body })).body;
    const follow = (person: WorkflowPerson, dataset: string) =>
      create(person, { ...WHOLE, triggers: [{ kind: "dataset", dataset }] });
    const refused = await follow(admin, "taken");
    expect(faultsOf(refused)).toMatchObject([
      { step: null, field: "triggers[0].dataset", message: expect.stringContaining(id) },
    ]);
    expect((await follow(admin, id)).status).toBe(201);
    expect((await follow(other, "taken")).status).toBe(201);
    const foreign = await follow(owner, "taken");
    expect(foreign.body.error.message).not.toContain(id);
  });

  it("takes a sound definition to be checked without saving it", async () => {
    const body = { ...WHOLE, triggers: [{ kind: "schedule", cron: "@daily" }] };
    const answer = await owner.call({ method: "POST", path: `${WORKFLOWS}/validate`, body });
    expect(answer.body).toEqual({
      ...{ object: "workflow.validation", valid: true },
      schedules: [{ trigger: 0, next: ["2030-01-01T06:00:00.000Z"] }],
    });
  });

  it("needs a key of the owner for steps that call models", async () => {
    const steps = [STEPS[0], { id: "label", kind: "tiny_model", labels: ["a", "b"] }];
    const withoutKey = await create(owner, { name: "m", steps });
    expect(faultsOf(withoutKey)).toMatchObject([{ step: null, field: "key_id" }]);
    const foreign = await create(owner, { name: "m", steps, key_id: other.keyId });
    expect(faultsOf(foreign)).toMatchObject([{ step: null, field: "key_id" }]);
    const { status, body } = await create(owner, { name: "m", steps, key_id: owner.keyId });
    expect([status, body.key_id]).toEqual([201, owner.keyId]);
  });

  it("makes a version of other steps or triggers only, and refuses a change of an old one", async () => {
    const { id } = (await create(owner)).body;
    const renamed = await patch(owner, id, { name: "renamed", steps: STEPS, if_version: 1 });
    expect(renamed.body).toMatchObject({ name: "renamed", version: 1 });
    const steps = [STEPS[0], { ...STEPS[1], condition: "row.n > 2" }];
    expect((await patch(owner, id, { steps, if_version: 1 })).body).toMatchObject({
      version: 2,
      steps,
    });
    const conflict = await patch(owner, id, { steps: STEPS, if_version: 1 });
    expect(conflict.status).toBe(409);
    expect(conflict.body.error).toMatchObject({ code: "version_conflict", param: "if_version" });
    const { body: versions } = await read(owner, id, "/versions");
    expect(versions).toMatchObject({
      total: 2,
      data: [
        { version: 2, created_by: owner.id, steps },
        { version: 1, steps: STEPS },
      ],
    });
  });

  it("lets one of several changes from the same version through", async () => {
    const { id } = (await create(owner)).body;
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, at) => {
        const steps = [STEPS[0], { ...STEPS[1], condition: `row.n > ${at + 10}` }];
        return patch(owner, id, { steps, if_version: 1 });
      }),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    expect((await read(owner, id)).body.version).toBe(2);
  });

  it("shows the secret of a webhook once, and never again", async () => {
    const created = await create(owner, { ...WHOLE, triggers: [{ kind: "webhook" }] });
    const { id, webhook } = created.body;
    expect(created.headers.get("cache-control")).toBe("no-store");
    const path = `/api/pipeline/webhook/${id}`;
    expect(webhook).toEqual({
      ...{ auth: "secret", path },
      secret: expect.stringMatching(/^whk_[0-9A-Za-z]{43}$/),
    });
    expect((await read(owner, id)).body.webhook).toEqual({ auth: "secret", path });
    const kept = await patch(owner, id, { triggers: [{ kind: "webhook", auth: "secret" }] });
    expect(kept.body.webhook).toEqual({ auth: "secret", path });
    const rotated = await owner.call({ method: "POST", path: `${WORKFLOWS}/${id}/webhook-secret` });
    expect(rotated.body).toMatchObject({ auth: "secret", path });
    expect(rotated.body.secret).not.toBe(webhook.secret);
    const byUrl = await patch(owner, id, { triggers: [{ kind: "webhook", auth: "url" }] });
    expect(byUrl.body.webhook).toEqual({
      auth: "url",
      path: expect.stringMatching(/^\/api\/pipeline\/webhook\/whu_[0-9A-Za-z]{43}$/),
    });
    expect((await read(owner, id)).body.webhook).toEqual({ auth: "url", path: null });
    const gone = await patch(owner, id, { triggers: [] });
    expect(gone.body.webhook).toBe(null);
    const none = await owner.call({ method: "POST", path: `${WORKFLOWS}/${id}/webhook-secret` });
    expect(none.status).toBe(400);
    const secrets = [webhook.secret, rotated.body.secret, byUrl.body.webhook.path.slice(22)];
    await stage.records.database.ask(async (db) => {
      const rows = await db.select().from(workflows).where(eq(workflows.id, id));
      const audit = await db.select().from(auditLog);
      for (const secret of secrets) {
        expect(JSON.stringify([rows, audit])).not.toContain(secret);
      }
    });
  });

  it("imports what it exports, without ids, key and secrets", async () => {
    const triggers = [{ kind: "webhook" }, { kind: "file", path: "in/", on: "deleted" }];
    const given = { ...WHOLE, description: "of orders", triggers, key_id: owner.keyId };
    const { id } = (await create(owner, { ...given, keep_rows: "failed" })).body;
    const { body: exported } = await read(owner, id, "/export");
    expect(Object.keys(exported)).toEqual([
      ...["name", "description", "timeout_seconds", "keep_rows", "triggers", "steps"],
    ]);
    const imported = await create(other, exported);
    expect(imported.status).toBe(201);
    expect((await read(other, imported.body.id, "/export")).body).toEqual(exported);
    expect(imported.body).toMatchObject({ owner_id: other.id, key_id: null, version: 1 });
  });

  it("is deleted with its versions, and the audit log tells who did what", async () => {
    const { id } = (await create(owner)).body;
    await owner.call({ method: "POST", path: `${WORKFLOWS}/${id}/runs` });
    const gone = await owner.call({ method: "DELETE", path: `${WORKFLOWS}/${id}` });
    expect(gone.body).toEqual({ id, object: "workflow.deleted", deleted: true });
    expect((await read(owner, id)).status).toBe(404);
    const runs = await owner.call({ path: `${PIPELINE}/runs?workflow=${id}` });
    expect(runs.body.data).toMatchObject([{ pipelineId: id, status: "stopped" }]);
    const entries = await stage.records.database.ask((db) =>
      db.select().from(auditLog).where(eq(auditLog.targetId, id)),
    );
    expect(entries.map(({ action }) => action)).toEqual([
      ...["workflow.create", "workflow.start", "workflow.delete"],
    ]);
    expect(JSON.stringify(entries)).not.toContain("tiny_pick");
  });

  it("refuses unknown fields of a body and a list, and a body that is no object", async () => {
    expect((await create(owner, [])).status).toBe(400);
    expect((await owner.call({ path: `${WORKFLOWS}?serch=x` })).body.error.param).toBe("serch");
    const { id } = (await create(owner)).body;
    expect(faultsOf(await patch(owner, id, { key: 1 }))).toMatchObject([{ field: "key" }]);
    expect((await patch(owner, id, {})).status).toBe(200);
  });
});

describe("The rights to a workflow", () => {
  const ALL = [
    ["GET", ""],
    ["PATCH", ""],
    ["DELETE", ""],
    ["GET", "/export"],
    ["GET", "/versions"],
    ["POST", "/webhook-secret"],
    ["POST", "/runs"],
    ["POST", "/stop"],
    ["POST", "/steps/check/test"],
  ] as const;
  const ask = async (person: WorkflowPerson, id: string, token = person.session) => {
    const statuses: Record<string, number> = {};
    for (const [method, more] of ALL) {
      // The deletion is tried last, so that the others find the workflow.
      if (method === "DELETE") continue;
      const body = method === "GET" ? undefined : {};
      const given = { method, path: `${WORKFLOWS}/${id}${more}`, token };
      const { status } = await person.call({ ...given, ...(body && { body }) });
      statuses[`${method} ${more}`] = status;
      if (more === "/runs") {
        await admin.call({ method: "POST", path: `${WORKFLOWS}/${id}/stop` });
      }
    }
    const path = `${WORKFLOWS}/${id}`;
    statuses["DELETE "] = (await person.call({ method: "DELETE", path, token })).status;
    return statuses;
  };
  const expected = (read: number, run: number, stop: number, change: number) => ({
    ...{ "GET ": read, "GET /export": read, "GET /versions": read },
    ...{ "PATCH ": change, "DELETE ": change },
    // Without a webhook there is none to rotate.
    "POST /webhook-secret": change === 200 ? 400 : change,
    ...{ "POST /runs": run, "POST /stop": stop, "POST /steps/check/test": change },
  });

  it("of the owner and administrators, by session and by key, are all", async () => {
    for (const person of [owner, admin]) {
      for (const token of [person.session, person.key]) {
        const { id } = (await create(owner)).body;
        expect(await ask(person, id, token)).toEqual(expected(200, 202, 200, 200));
      }
    }
  });

  it("of others are none: a private workflow does not exist for them", async () => {
    const { id } = (await create(owner)).body;
    expect(await ask(other, id)).toEqual(expected(404, 404, 404, 404));
    expect((await other.call({ path: `${WORKFLOWS}?search=orders` })).body.data).not.toContainEqual(
      expect.objectContaining({ id }),
    );
  });

  it("of users of a shared one are to read, start and stop it, and only administrators share", async () => {
    const { id } = (await create(owner)).body;
    const refused = await patch(owner, id, { visibility: "everyone" });
    expect(faultsOf(refused)).toMatchObject([{ step: null, field: "visibility" }]);
    expect((await patch(admin, id, { visibility: "everyone" })).status).toBe(200);
    expect(await ask(other, id)).toEqual(expected(200, 202, 200, 403));
    // Whose run it is does not matter: it is of a workflow that everybody sees.
    const started = await other.call({ method: "POST", path: `${WORKFLOWS}/${id}/runs` });
    const { runId } = started.body;
    const listed = await other.call({ path: `${PIPELINE}/runs?limit=5` });
    expect(listed.body.data).toContainEqual(expect.objectContaining({ runId }));
    expect((await other.call({ path: `${PIPELINE}/runs/${runId}` })).status).toBe(200);
  });

  it("of a restricted key are to read and to start", async () => {
    const body = { name: "limited", rpm_limit: 100 };
    const { key } = (await owner.call({ method: "POST", path: "/v1/api-keys", body })).body;
    const { id } = (await create(owner)).body;
    expect(await ask(owner, id, key)).toEqual(expected(200, 202, 403, 403));
    const created = { method: "POST", path: WORKFLOWS, token: key, body: WHOLE };
    expect((await owner.call(created)).status).toBe(403);
    const secret = { method: "PUT", path: `${PIPELINE}/secrets/a`, token: key };
    expect((await owner.call({ ...secret, body: { secret: "x" } })).status).toBe(403);
  });

  const tokenWith = async (...scopes: readonly string[]) => {
    const body = { name: "a program", scopes };
    const path = "/api/service-tokens";
    return (await admin.call({ method: "POST", path, body })).body.token;
  };
  const MODEL_STEPS = [STEPS[0], { id: "label", kind: "tiny_model", labels: ["a", "b"] }];
  const OTHER_STEPS = [STEPS[0], { id: "label", kind: "tiny_model", labels: ["c", "d"] }];
  const issue = async (rights: object) => {
    const body = { name: "a key", owner_id: owner.id, ...rights };
    return (await admin.call({ method: "POST", path: "/v1/api-keys", body })).body;
  };
  /** What a caller may do with steps that call models with this key. */
  const useKey = async (token: string, keyId: string) => {
    const send = (method: string, path: string, body: unknown) =>
      admin.call({ method, path, body, token });
    const body = { name: "m", steps: MODEL_STEPS, key_id: keyId };
    const [withKey, withoutKey] = [
      (await create(owner, body)).body.id,
      (await create(owner, { name: "m", steps: STEPS })).body.id,
    ];
    const statuses = {
      create: (await send("POST", WORKFLOWS, body)).status,
      validate: (await send("POST", `${WORKFLOWS}/validate`, body)).status,
      name: (await send("PATCH", `${WORKFLOWS}/${withoutKey}`, { key_id: keyId })).status,
      edit: (await send("PATCH", `${WORKFLOWS}/${withKey}`, { steps: OTHER_STEPS })).status,
    };
    // The steps are now the caller's, or as they were.
    await patch(owner, withKey, { steps: MODEL_STEPS });
    const one = `${WORKFLOWS}/${withKey}`;
    return {
      ...statuses,
      same: (await send("PATCH", one, { name: "n", steps: MODEL_STEPS, enabled: true })).status,
      test: (await send("POST", `${one}/steps/label/test`, { rows: [{ n: 1 }] })).status,
      testOther: (await send("POST", `${one}/steps/orders/test`, {})).status,
    };
  };

  it("of a service token are those of its scopes", async () => {
    const { id } = (await create(owner)).body;
    const reading = await tokenWith("workflows:read");
    expect(await ask(admin, id, reading)).toEqual(expected(200, 403, 403, 403));
    const running = await tokenWith("workflows:run");
    const statuses = await ask(admin, id, running);
    expect(statuses).toEqual({
      ...expected(403, 202, 200, 403),
      "POST /steps/check/test": 403,
    });
    const writing = await tokenWith("workflows:write");
    expect(await ask(admin, id, writing)).toEqual({
      ...expected(403, 403, 403, 200),
      "POST /steps/check/test": 200,
    });
  });

  it("of a key give steps no key that has more rights than it, and of a session any", async () => {
    const weak = await issue({ tool_scope: { tools: ["find_*"], sql_connections: [] } });
    const ALL_DONE = {
      ...{ create: 201, validate: 200, name: 200, edit: 200 },
      ...{ same: 200, test: 200, testOther: 200 },
    };
    // What is there already may be started, renamed and enabled.
    const REFUSED = {
      ...{ create: 400, validate: 400, name: 400, edit: 400 },
      ...{ same: 200, test: 400, testOther: 200 },
    };
    const narrow = { tools: ["find_name"], sql_connections: [] };
    const strong = [
      await issue({ max_level: "full_auto", tool_scope: narrow }),
      await issue({ passthrough: true, tool_scope: narrow }),
      await issue({}),
    ];
    const params: string[] = [];
    for (const { id } of strong) {
      expect(await useKey(weak.key, id)).toEqual(REFUSED);
      expect(await useKey(owner.session, id)).toEqual(ALL_DONE);
      const body = { name: "m", steps: MODEL_STEPS, key_id: id };
      const refused = await owner.call({ method: "POST", path: WORKFLOWS, body, token: weak.key });
      expect(faultsOf(refused)).toMatchObject([{ step: null, field: "key_id" }]);
      params.push(/more (\w+) than/.exec(refused.body.error.message)?.[1] ?? "");
    }
    expect(params).toEqual(["max_level", "passthrough", "tool_scope"]);
    for (const { id } of [weak, await issue({ tool_scope: narrow })]) {
      expect(await useKey(weak.key, id)).toEqual(ALL_DONE);
    }
  });

  it("of a service token give steps only a key that it may rotate, and call no model", async () => {
    const writing = await tokenWith("workflows:write");
    const TESTS = { same: 200, test: 403, testOther: 200 };
    const saved = { ...{ create: 400, validate: 400, name: 200, edit: 200 }, ...TESTS };
    // What it creates is of its maker, who has no key of another owner.
    expect(await useKey(writing, owner.keyId)).toEqual(saved);
    const strong = await issue({ max_level: "write" });
    expect(await useKey(writing, strong.id)).toEqual({ ...saved, name: 400, edit: 400 });
    const body = { name: "m", steps: MODEL_STEPS, key_id: admin.keyId };
    const own = { method: "POST", path: WORKFLOWS, body };
    expect((await admin.call(own)).status).toBe(201);
    expect(faultsOf(await admin.call({ ...own, token: writing }))).toMatchObject([
      { step: null, field: "key_id", message: expect.stringContaining("that it may rotate") },
    ]);
  });

  it("to steps that were checked with another key are not enough", async () => {
    const weak = await issue({});
    const strong = await issue({ max_level: "full_auto" });
    const body = { name: "m", steps: MODEL_STEPS, key_id: weak.id };
    const { id } = (await create(owner, body)).body;
    const { database } = stage.records;
    // The key is replaced between the check and the change.
    const records = {
      ...stage.records,
      secrets: {
        ...stage.records.secrets,
        async exists() {
          await database.ask((db) =>
            db.update(workflows).set({ keyId: strong.id }).where(eq(workflows.id, id)),
          );
          return true;
        },
      },
    };
    const caller: KeyCaller = {
      kind: "key",
      keyId: weak.id,
      ownerId: owner.id,
      role: "user",
      assistantId: null,
      passthrough: false,
      maxLevel: "read_only",
      toolScope: weak.tool_scope,
      limits: null,
      isRestricted: false,
    };
    const sink = { id: "send", kind: "tiny_sink", to: "x", headers: { a: { secret: "s" } } };
    const change = updateWorkflow(
      records,
      { caller, address: null, requestId: "req_key" },
      { id, patch: { steps: [STEPS[0], sink], faults: [] } },
    );
    await expect(change).rejects.toMatchObject({ code: "version_conflict", param: "key_id" });
  });

  it("let only administrators own steps on files, and hand a workflow over", async () => {
    const steps = [{ id: "files", kind: "tiny_admin" }];
    expect((await create(admin, { name: "files", steps })).status).toBe(201);
    expect(faultsOf(await create(owner, { name: "files", steps }))).toMatchObject([
      { step: "files", field: "kind" },
    ]);
    const { id } = (await create(owner)).body;
    const refused = await patch(owner, id, { owner_id: other.id });
    expect(faultsOf(refused)).toMatchObject([{ field: "owner_id" }]);
    expect((await patch(admin, id, { owner_id: "usr_none" })).status).toBe(400);
    expect((await patch(admin, id, { owner_id: other.id })).body.owner_id).toBe(other.id);
    expect((await read(owner, id)).status).toBe(404);
  });

  it("pass, disabled, to whoever deletes the owner", async () => {
    const body = { username: "leaving", password: "password of the one who leaves" };
    const { id: userId } = (await admin.call({ method: "POST", path: "/api/admin/users", body }))
      .body;
    const { id } = (await create(owner)).body;
    await patch(admin, id, { owner_id: userId });
    await admin.call({ method: "DELETE", path: `/api/admin/users/${userId}` });
    expect((await read(admin, id)).body).toMatchObject({ owner_id: admin.id, enabled: false });
  });
});

describe("/api/pipeline/secrets", () => {
  it("stores a secret that is never shown, and that the owner's workflows may name", async () => {
    const secret = "canary: of the ticket system";
    const path = `${PIPELINE}/secrets/tickets`;
    const stored = await owner.call({ method: "PUT", path, body: { secret } });
    expect(stored.body).toMatchObject({ object: "workflow.secret", name: "tickets" });
    expect(await stage.records.secrets.read(owner.id, "tickets")).toBe(secret);
    expect(await stage.records.secrets.read(other.id, "tickets")).toBe(undefined);
    const { text } = await owner.call({ path: `${PIPELINE}/secrets` });
    expect(JSON.parse(text)).toMatchObject({ total: 1, data: [{ name: "tickets" }] });
    expect(text).not.toContain("canary");
    expect((await other.call({ path: `${PIPELINE}/secrets` })).body.total).toBe(0);
    const sink = { id: "send", kind: "tiny_sink", to: "x", headers: { a: { secret: "tickets" } } };
    const body = { name: "sends", steps: [STEPS[0], sink] };
    expect((await create(owner, body)).status).toBe(201);
    expect(faultsOf(await create(other, body))).toMatchObject([
      { step: "send", field: "headers.a" },
    ]);
    await owner.call({ method: "PUT", path, body: { secret: "another" } });
    expect(await stage.records.secrets.read(owner.id, "tickets")).toBe("another");
    const audit = await stage.records.database.ask((db) => db.select().from(auditLog));
    expect(JSON.stringify(audit)).not.toContain("canary");
    expect((await owner.call({ method: "DELETE", path })).status).toBe(200);
    expect((await owner.call({ method: "DELETE", path })).status).toBe(404);
  });

  it("keeps at most 200 of a user, also of many that come at once", async () => {
    const names = Array.from({ length: 190 }, (_, at) => `old_${at}`);
    const updatedAt = new Date();
    await stage.records.database.ask((db) =>
      db
        .insert(workflowSecrets)
        .values(names.map((name) => ({ ownerId: other.id, name, sealed: "-", updatedAt }))),
    );
    const put = (name: string) =>
      other.call({
        method: "PUT",
        path: `${PIPELINE}/secrets/${name}`,
        body: { secret: "x" },
      });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => put(`new_${at}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 10 }, () => 200),
      ...Array.from({ length: 10 }, () => 400),
    ]);
    expect((await other.call({ path: `${PIPELINE}/secrets` })).body.total).toBe(200);
    expect((await put("old_1")).status).toBe(200);
  });

  it("refuses a wrong name and a wrong value without repeating it", async () => {
    const put = (name: string, body: unknown) =>
      owner.call({ method: "PUT", path: `${PIPELINE}/secrets/${name}`, body });
    expect((await put("a b", { secret: "x" })).status).toBe(400);
    const wrong = await put("tickets", { secret: ["canary"] });
    expect([wrong.status, wrong.text]).toEqual([400, expect.not.stringContaining("canary")]);
    expect((await put("tickets", { secret: "x".repeat(8_193) })).status).toBe(400);
  });
});

describe("GET /api/pipeline/step-kinds", () => {
  it("describes every kind with the schema of its fields, and those of triggers", async () => {
    const { body } = await other.call({ path: `${PIPELINE}/step-kinds` });
    expect(body.data.map(({ kind }: { kind: string }) => kind)).toContain("tiny_pick");
    expect(body.data.find(({ kind }: { kind: string }) => kind === "tiny_model")).toMatchObject({
      ...{ object: "step_kind", group: "model", needs_key: true, administrators_only: false },
      schema: { type: "object", required: ["labels"], properties: { concurrency: { default: 4 } } },
    });
    const pick = body.data.find(({ kind }: { kind: string }) => kind === "tiny_pick");
    expect(pick.outputs).toEqual(["else"]);
    expect(Object.keys(body.triggers)).toContain("schedule");
    expect(body.common.properties).toHaveProperty("on_row_error");
  });
});

describe("The test of a step", () => {
  const test = (id: string, step: string, body: unknown) =>
    owner.call({ method: "POST", path: `${WORKFLOWS}/${id}/steps/${step}/test`, body });

  it("lets its connection be quiet as long as it works", async () => {
    const { id } = (await create(owner, { name: "quiet", steps: STEPS })).body;
    const path = `${WORKFLOWS}/${id}/steps/check/test`;
    const said: string[] = [];
    const allowSilence = () => {
      said.push("begins");
      return () => void said.push("ends");
    };
    const { fetch } = createApp(stage.served.deps);
    const request = new Request(`http://gateway${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.session}`, "content-type": "application/json" },
      body: JSON.stringify({ rows: [{ n: 2 }] }),
    });
    const connection = { host: "gateway", path, peer: () => "127.0.0.1", allowSilence };
    expect((await fetch(request, connection)).status).toBe(200);
    expect(said).toEqual(["begins", "ends"]);
  });

  it("takes rows that nest as deep as the body of a webhook may", async () => {
    const steps = [STEPS[0], { id: "send", kind: "tiny_sink", to: "x" }];
    const { id } = (await create(owner, { name: "deep", steps })).body;
    const row = `{"a":${"[".repeat(127)}${"]".repeat(127)}}`;
    const rows = [JSON.parse(row)];
    for (const body of [`{"rows":[${row}]}`, `{"inputs":{"orders":[${row}]}}`]) {
      const { status, body: answer } = await test(id, "send", body);
      expect([status, answer.outputs]).toEqual([200, { main: rows }]);
    }
  });

  it("runs it once with sample rows, and a sink only reports what it would do", async () => {
    const steps = [
      STEPS[0],
      { ...STEPS[1], on_row_error: "route" },
      { id: "label", kind: "tiny_model", labels: ["a", "b"], on_row_error: "skip" },
      { id: "send", kind: "tiny_sink", to: "x" },
      { id: "guard", kind: "tiny_break", break_on: "empty" },
    ];
    const { id } = (await create(owner, { name: "t", steps, key_id: owner.keyId })).body;
    const rows = [{ n: 1 }, { n: 2 }, { n: "x" }];
    expect((await test(id, "check", { rows })).body).toMatchObject({
      outputs: {
        main: [{ n: 2 }],
        else: [{ n: 1 }],
        errors: [{ n: "x", _error: { row: 3, code: "no_number", message: "n is no number." } }],
      },
      row_errors: [{ row: 3, code: "no_number", message: "n is no number." }],
      ...{ error: null, breaks: null, truncated: false },
    });
    const labelled = await test(id, "label", { rows: [{ n: 2 }, { n: 3 }] });
    expect(labelled.body).toMatchObject({
      outputs: { main: [{ n: 2, label: "a", key: "1" }] },
      row_errors: [{ row: 2, code: "bad_answer" }],
      usage: { calls: 1, input_tokens: 5, output_tokens: 1 },
    });
    const sent = await test(id, "send", { rows });
    expect(sent.body).toMatchObject({ told: ["would send to x"], outputs: { main: rows } });
    const large = await test(id, "send", '{"rows": [{"n": 9007199254740993}]}');
    expect(large.body.outputs.main).toEqual([{ n: "9007199254740993" }]);
    expect((await test(id, "guard", {})).body.breaks).toEqual({
      ...{ as: "failed", message: "nothing came" },
    });
    expect((await test(id, "nothing", {})).status).toBe(404);
    expect((await test(id, "check", { inputs: { nobody: [] } })).body.error.param).toBe("inputs");
  });

  it("takes up to 100 rows, and shows up to 1,000", async () => {
    const rows = Array.from({ length: 1_500 }, (_, n) => ({ n }));
    const { id } = (await create(owner, { name: "many", steps: [{ ...STEPS[0], rows }] })).body;
    const { body } = await test(id, "orders", {});
    expect(body.truncated).toBe(true);
    expect(body.outputs.main).toHaveLength(1_000);
    expect((await test(id, "orders", { rows: rows.slice(0, 101) })).status).toBe(400);
  });

  it("reports the failure of the step", async () => {
    const { id } = (await create(owner)).body;
    const { body } = await test(id, "check", { rows: [{ n: "x" }] });
    expect(body.error).toEqual({ code: "no_number", message: "n is no number.", row: 1 });
  });
});
