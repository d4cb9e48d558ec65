import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { toFile } from "openai";
import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { expireLeases } from "../../support/faults/expire-leases.ts";
import { faultRandom } from "../../support/faults/fault-random.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createMigratedDatabase } from "../../support/servers/databases/test-database.ts";
import { startGateway, TEST_KEY } from "../../support/servers/start-gateway.ts";
import { startSimulator } from "../../support/servers/start-simulator.ts";
import { longText } from "../../support/stages/knowledge/ingest-stage.ts";

const CYCLES = trialSize(2, 20);
const FILES = 3;
const TIME_LIMIT_MS = trialSize(120_000, 1_200_000);
/** On a busy machine. */
const ENDED_MS = 240_000;

describe.skipIf(databaseServerUrl === undefined)("a server that is killed while it ingests", () => {
  test(
    "ends every acknowledged file after its restart, like an undisturbed one",
    async () => {
      const dataDir = await mkdtemp(join(tmpdir(), "ingestion-kills-"));
      const database = await createMigratedDatabase(databaseServerUrl ?? "");
      const simulator = await startSimulator();
      const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
      const random = faultRandom("ingestion, kills");
      const environment = {
        LLM_BACKEND: "vllm",
        LLM_BASE_URL: simulator.url,
        EMBEDDING_MODEL: "sim-embed",
        DATA_DIR: dataDir,
        DATABASE_URL: database.url,
      };
      const texts = Array.from({ length: FILES }, (_, index) => longText(250, `text ${index}`));
      const killed: string[] = [];
      let server = await startGateway(environment);
      const clientOf = () =>
        new OpenAI({ apiKey: TEST_KEY, baseURL: `${server.url}/v1`, maxRetries: 5 });
      const addAll = async () => {
        const client = clientOf();
        const { id } = await client.vectorStores.create({ name: "killed" });
        for (const [index, text] of texts.entries()) {
          const file = await client.files.create({
            file: await toFile(Buffer.from(text), `${index}.txt`),
            purpose: "assistants",
          });
          await client.vectorStores.files.create(id, { file_id: file.id });
        }
        return id;
      };
      const untilEnded = async (store: string) => {
        const endsAt = performance.now() + ENDED_MS;
        for (;;) {
          const rows =
            await sql`select status, error_message from vector_store_files where vector_store_id = ${store}`;
          if (rows.every(({ status }) => status !== "in_progress")) return rows;
          if (performance.now() > endsAt) throw new Error("files are still in progress");
          await sleep(100);
        }
      };
      const contentOf = (store: string) => sql`
      select file.filename, chunk.position, chunk.text, chunk.embedding
      from chunks as chunk join files as file on file.id = chunk.file_id
      where chunk.vector_store_id = ${store} order by file.filename, chunk.position`;
      try {
        const whole = await addAll();
        await untilEnded(whole);
        const undisturbed = await contentOf(whole);
        expect(undisturbed.length).toBeGreaterThan(FILES * 200);
        for (let cycle = 0; cycle < CYCLES; cycle += 1) {
          // A file whose worker is lost in three tries without progress is given up: each store sees at most two kills.
          const last = killed.at(-2);
          if (last !== undefined) await untilEnded(last);
          killed.push(await addAll());
          await sleep(random() * 2_000);
          server.kill("SIGKILL");
          await server.exited;
          await expireLeases(environment);
          server = await startGateway(environment);
        }
        for (const store of killed) {
          const states = (await untilEnded(store)).map(
            ({ status, error_message }) => error_message ?? status,
          );
          expect(states).toEqual(texts.map(() => "completed"));
          expect(await contentOf(store)).toEqual(undisturbed);
          const reports = await sql`
          select body from outbox_events
          where kind = 'knowledge.ingested' and body ->> 'vector_store_id' = ${store}`;
          expect(reports).toHaveLength(FILES);
        }
      } finally {
        server.kill("SIGKILL");
        await server.exited;
        await sql.end();
        await simulator.stop();
        await database.drop();
        await rm(dataDir, { recursive: true, force: true });
      }
    },
    TIME_LIMIT_MS,
  );
});
