import { and, eq } from "drizzle-orm";
import OpenAI from "openai";
import type { Db } from "../../../../src/db/context.ts";
import { chunks, files, vectorStoreFiles } from "../../../../src/db/tables/knowledge.ts";
import type { Deps } from "../../../../src/deps.ts";
import type { Question, Search } from "../../../../src/knowledge/retrieve/passage.ts";
import { randomBase62 } from "../../../../src/lib/id.ts";
import { callHttp, type HttpAnswer, type HttpCall, logIn } from "../../clients/http-session.ts";
import { startSimulator } from "../../servers/start-simulator.ts";
import { createMovedClock, type MovedClock } from "../moved-clock.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../served-deps.ts";

/** Somebody who calls. */
export interface Person {
  readonly id: string;
  readonly session: string;
  readonly key: string;
  /** The official client with that key. */
  readonly openai: OpenAI;
  readonly call: (call: HttpCall) => Promise<HttpAnswer>;
}

/** The server with three people, whose files are ingested by the test itself. */
export interface StoreStage {
  readonly served: ServedDeps;
  readonly deps: Deps;
  readonly clock: MovedClock;
  readonly admin: Person;
  readonly owner: Person;
  readonly other: Person;
  /** What the search was asked; `found` is what it answers. */
  readonly questions: Question[];
  readonly found: { answer: Search };
  readonly inDatabase: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  /** An uploaded file. */
  readonly addFile: (person: Person, more?: Partial<typeof files.$inferInsert>) => Promise<string>;
  /** Ends the ingestion of a file with these texts as its chunks. */
  readonly complete: (storeId: string, fileId: string, texts: readonly string[]) => Promise<void>;
  readonly setFile: (
    storeId: string,
    fileId: string,
    fields: Partial<typeof vectorStoreFiles.$inferInsert>,
  ) => Promise<void>;
  readonly runJob: (name: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export const EMBEDDING_MODEL = "sim-embed";

export async function openStoreStage(
  databaseUrl: string | undefined,
  more: Readonly<Record<string, string>> = {},
): Promise<StoreStage> {
  const simulator = await startSimulator({ engine: "vllm" });
  const clock = await createMovedClock();
  const questions: Question[] = [];
  const found: StoreStage["found"] = { answer: async () => [] };
  const search: Search = (question) => {
    questions.push(question);
    return found.answer(question);
  };
  const environment = {
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    // Many callers that change one store wait for each other, on a busy machine for long.
    DB_POOL_WAIT_MS: "60000",
    INGEST_CONCURRENCY: "0",
    ...clock.environment,
    ...more,
  };
  const served = await serveDeps(databaseUrl, environment, (deps) => ({
    ...deps,
    knowledge: { ...deps.knowledge, search },
  }));
  const { deps } = served;
  const { ask: inDatabase } = deps.knowledge.stores.database;
  const personOf = (session: string) => createPerson(served.url, session);
  const adminSession = await logIn(served.url, "admin", ADMIN_PASSWORD);
  const users = [];
  for (const name of ["owner", "other"]) {
    users.push(await personOf(await createUser(served.url, adminSession, name)));
  }
  const [owner, other] = users;
  if (owner === undefined || other === undefined) throw new Error("there are no users");
  const setFile: StoreStage["setFile"] = async (storeId, fileId, fields) => {
    const { vectorStoreId, fileId: id } = vectorStoreFiles;
    const isMeant = and(eq(vectorStoreId, storeId), eq(id, fileId));
    await inDatabase((db) => db.update(vectorStoreFiles).set(fields).where(isMeant));
  };
  return {
    served,
    deps,
    clock,
    admin: await personOf(adminSession),
    owner,
    other,
    questions,
    found,
    inDatabase,
    async addFile(person, more = {}) {
      const id = `file-${randomBase62(22)}`;
      const row = {
        id,
        ownerId: person.id,
        filename: "manual.md",
        purpose: "assistants",
        bytes: 10,
        sha256: "0".repeat(64),
        ...more,
      };
      await inDatabase((db) => db.insert(files).values(row));
      return id;
    },
    async complete(storeId, fileId, texts) {
      const rows = texts.map((text, position) => chunkRow({ storeId, fileId, text, position }));
      await inDatabase((db) => db.insert(chunks).values(rows));
      const done = { chunksDone: texts.length, chunksTotal: texts.length, usageBytes: 100 };
      await setFile(storeId, fileId, { ...done, status: "completed" });
    },
    setFile,
    async runJob(name) {
      const jobs = deps.parts.flatMap((part) => part.jobs ?? []);
      const job = jobs.find((known) => known.name === name);
      if (job === undefined) throw new Error(`there is no job ${name}`);
      await job.run();
    },
    async close() {
      await served.close();
      await simulator.stop();
      await clock.remove();
    },
  };
}

export function chunkRow({
  storeId,
  fileId,
  text,
  position,
  generation = 1,
}: {
  readonly storeId: string;
  readonly fileId: string;
  readonly text: string;
  readonly position: number;
  readonly generation?: number;
}): typeof chunks.$inferInsert {
  const words = `'${text.replaceAll("'", "''")}'`;
  return { vectorStoreId: storeId, generation, fileId, position, text, embedding: [1, 0], words };
}

async function createUser(url: string, admin: string, username: string): Promise<string> {
  const body = { username, password: `first password of ${username}` };
  await callHttp(url, { method: "POST", path: "/api/admin/users", token: admin, body });
  const change = { current_password: body.password, new_password: `own password of ${username}` };
  const changed = await callHttp(url, {
    method: "POST",
    path: "/api/auth/password",
    token: await logIn(url, username, body.password),
    body: change,
  });
  return changed.body.token;
}

async function createPerson(url: string, session: string): Promise<Person> {
  const call = (given: HttpCall) => callHttp(url, { token: session, ...given });
  const { id } = (await call({ path: "/api/auth/me" })).body;
  const issued = await call({ method: "POST", path: "/v1/api-keys", body: { name: "a key" } });
  const { key } = issued.body;
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  return { id, session, key, openai, call };
}
