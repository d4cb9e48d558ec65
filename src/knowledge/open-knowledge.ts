import type { Registry } from "../backends/registry.ts";
import type { Caller } from "../core/callers/caller.ts";
import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import type { InternalEvents } from "../queue/internal-events.ts";
import type { Assistants } from "./assistants/assistants.ts";
import { followAssistants } from "./assistants/known-assistants.ts";
import { checkStores } from "./check-stores.ts";
import { createEmbedder } from "./embed-texts.ts";
import { type FileConnections, openFileConnections } from "./file-connections.ts";
import { createFileFromStream } from "./files/create-file.ts";
import type { FileStore } from "./files/files.ts";
import { openFiles } from "./files/open-files.ts";
import { openChunkReader } from "./ingest/chunks/read-chunks.ts";
import { openIngestion } from "./ingest/open-ingestion.ts";
import { type DocumentText, readText } from "./read-text.ts";
import { type DocumentSource, openDocumentReader } from "./readers/open-document-reader.ts";
import { openRetrieval } from "./retrieve/open-retrieval.ts";
import type { Search } from "./retrieve/passage.ts";
import { expireStores } from "./stores/expire-stores.ts";
import { createKeepActive } from "./stores/keep-active.ts";
import type { Stores } from "./stores/stores.ts";

const EXPIRE_PAUSE_MS = 60_000;
/** Documents that are read at once for people who wait; further ones wait. */
const ASKED_PROCESSES = 2;

export interface KnowledgeParts {
  readonly backends: Pick<Registry, "embeddings" | "models">;
  readonly events: Pick<InternalEvents, "subscribe" | "wake">;
  /** Registers each part as soon as it is open, so that a failing start closes it. */
  readonly add: <Opened extends Part<Db>>(part: Opened) => Opened;
}

/** Files, vector stores, their search, and the assistants that answer from them. */
export interface Knowledge {
  readonly files: FileStore;
  readonly stores: Stores;
  readonly search: Search;
  readonly fileConnections: FileConnections;
  readonly assistants: Omit<Assistants, "isTool">;
  /** Rejects with `not_found` for the first vector store that does not exist for the caller. */
  readonly checkStores: (caller: Caller, vectorStoreIds: readonly string[]) => Promise<void>;
  /** Reads the text of a document of which nothing is kept. */
  readonly readText: (
    source: DocumentSource,
    limits: Parameters<typeof readText>[2],
  ) => Promise<DocumentText>;
  /** Ingestion yields to chat while `isBusy` returns true. */
  readonly yieldTo: (isBusy: () => boolean) => void;
}

export async function openKnowledge(
  base: Base,
  { backends, events, add }: KnowledgeParts,
): Promise<Knowledge> {
  const { settings, database, clock, log } = base;
  const embedder = createEmbedder(backends.embeddings, settings);
  const files = add(await openFiles(base, events.wake)).store;
  const { search, refuseOutgrown } = add(
    await openRetrieval(base, { embedder, onSearched: createKeepActive(base) }),
  );
  const connections = openFileConnections(settings);
  let isBusy = () => false;
  const reader = openChunkReader(settings, files);
  // Of their own: a person who waits must not wait for a folder of files.
  const askedReader = openDocumentReader({ processes: ASKED_PROCESSES });
  add({ close: async () => askedReader.close() });
  const ingestion = openIngestion(base, {
    embedder,
    events,
    connections,
    refuseOutgrown,
    isBusy: () => isBusy(),
    readChunks: reader.readChunks,
    async takeFile(source, fields) {
      const file = await createFileFromStream(files, source, { ...fields, purpose: "assistants" });
      return file.id;
    },
  });
  add({
    ...ingestion,
    async close(limitMs) {
      await ingestion.close(limitMs);
      reader.close();
    },
  });
  const followed = await followAssistants({ database, log });
  const { known, catchUp, metrics } = followed;
  add({
    metrics,
    close: async () => followed.close(),
    jobs: [
      {
        name: "expire vector stores",
        pauseMs: EXPIRE_PAUSE_MS,
        run: () => expireStores(database.db, clock.now()),
      },
    ],
  });
  return {
    files,
    stores: {
      database,
      clock,
      resolveModel: async (name) => backends.embeddings.resolve(name),
      wakeIngestion: ingestion.wake,
      fileConnections: () => connections.list(),
    },
    search,
    fileConnections: connections,
    assistants: { database, clock, models: backends.models, known, catchUp },
    readText: (source, limits) => readText(askedReader, source, limits),
    checkStores: (caller, ids) => checkStores({ database, clock }, caller, ids),
    yieldTo(given) {
      isBusy = given;
    },
  };
}
