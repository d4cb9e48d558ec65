import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import type { KnownBiKeys } from "../access/bi-keys/known/known-bi-keys.ts";
import type { Secret } from "../access/secret.ts";
import { copyFolder } from "../config/folders.ts";
import type { DataCaller } from "../core/callers/caller.ts";
import type { Part } from "../core/part.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import { embeddedArchive } from "../db/open-db.ts";
import { makeSocketFolder } from "../lib/folders/socket-folder.ts";
import { causeOf } from "../lib/log.ts";
import { type Admissions, createAdmission } from "./admission.ts";
import { type CopyFeed, openCopyFeed } from "./copy/open-copy-feed.ts";
import { createDataFigures } from "./data-metrics.ts";
import type { Admission, AdmissionRefusal, UpstreamLogin } from "./principal.ts";
import type { DataProcess } from "./process/data-process.ts";
import { openDataProcess } from "./process/open-data-process.ts";
import type { PortConfig, ProcessConfig } from "./process/process-messages.ts";
import type { DataReads } from "./queries/read-data.ts";
import type { Roles } from "./roles/open-roles.ts";
import { RoleRefusal } from "./roles/role-refusal.ts";
import { watchRoles } from "./roles/watch-roles.ts";
import { openStatementLog, type StatementLog } from "./statements/statement-log.ts";
import type { SchemaView } from "./views/data-view.ts";
import { listViews, readExtents } from "./views/list-views.ts";
import { BUILT_IN_VIEWS } from "./views/registry.ts";

const KEEP_DAYS_PAUSE_MS = 60 * 60_000;
const ROLE_RIGHT_PAUSE_MS = 10_000;

export interface DataParts {
  readonly biKeys: KnownBiKeys;
  readonly roles: Roles;
  readonly secret: Secret;
  /** A text that is unique to this installation. */
  readonly installation: string;
  readonly isLicensed: () => boolean;
  /** The number of open calls of clients, to which readers give way. */
  readonly clients: () => number;
  readonly add: (part: CopyFeed) => unknown;
}

/** Reading data by BI keys and sessions: `/v1/data`, the PostgreSQL port, and the books of both. */
export interface Data {
  readonly reads: DataReads;
  /** Who may run statements of their own. */
  readonly ofCaller: (caller: DataCaller) => Promise<Admission>;
  /** Who may list and read views by statements that the gateway itself writes. */
  readonly ofReader: (caller: DataCaller) => Promise<Admission>;
  readonly statements: StatementLog;
  /** The port that PostgreSQL clients use; undefined while it is closed. */
  readonly portOf: () => number | undefined;
}

export interface OpenData extends Part<Db> {
  readonly data: Data;
  /** Call it when this replica has changed a dataset, so that the next caller sees it. */
  readonly viewsChanged: () => void;
}

export async function openData(base: Base, parts: DataParts): Promise<OpenData> {
  const { settings, database, clock, log } = base;
  const { biKeys, roles, secret, clients } = parts;
  const isEnabled = settings.BIKEY_PG_PROXY_ENABLED;
  const statements = openStatementLog(base);
  const socketFolder = await makeSocketFolder(resolve(settings.DATA_DIR, "data-socket"));
  const list = () => database.askOwn(listViews);
  const { observe, metrics } = createDataFigures(() =>
    isEnabled ? dataProcess.portState() : undefined,
  );
  const dataProcess = openDataProcess({
    configure: () => configure(base, { roles, socketFolder }),
    async login(key, address) {
      const admission = await admissions.byKey(key, address);
      if (admission.refusal === undefined) await feed?.resumed();
      return admission;
    },
    observe: {
      ...observe,
      statement(statement) {
        // A connection may stay open for hours after its login.
        feed?.used();
        observe.statement(statement);
        statements.note(statement);
      },
    },
    clients,
    log,
  });
  const feed = feedCopy(base, { ...parts, dataProcess, list });
  const { admissions, readers } = admitReaders(base, { ...parts, list, used: () => feed?.used() });
  const obstacle = watchRoles(roles, log);
  biKeys.onChange((ids) => {
    dataProcess.end(ids, "The BI key was changed or revoked.");
    // What this process cannot end, such as a connection of a process that is gone, ends with the role.
    roles.sweep().catch((thrown: unknown) => {
      log.warn({ cause: causeOf(thrown) }, "the roles of BI keys are dropped later");
    });
  });
  if (isEnabled) dataProcess.keep();
  return {
    data: {
      reads: {
        process: dataProcess,
        listViews: list,
        readExtents: (views) => database.askOwn((db) => readExtents(db, views)),
        asOf: feed?.asOf ?? (async () => clock.now()),
        copy: feed ?? null,
        placeSecret: secret.derive("data-places"),
      },
      ofCaller: admissions.ofCaller,
      ofReader: readers.ofCaller,
      statements,
      portOf: () => dataProcess.portState().port ?? undefined,
    },
    metrics,
    viewsChanged() {
      admissions.viewsChanged();
      readers.viewsChanged();
      feed?.changed();
    },
    states: {
      bi: () => (isEnabled ? stateText(dataProcess.portState(), obstacle.current()) : undefined),
    },
    jobs: [
      { name: "bi_role_right", pauseMs: ROLE_RIGHT_PAUSE_MS, firstMs: 1_000, run: obstacle.look },
      {
        name: "bi_statement_days",
        pauseMs: KEEP_DAYS_PAUSE_MS,
        firstMs: 1_000,
        run: statements.keepDays,
      },
    ],
    async close() {
      await dataProcess.close();
      await statements.close();
      await rm(socketFolder, { recursive: true, force: true });
    },
  };
}

type ListViews = () => Promise<readonly SchemaView[]>;

/** On the embedded store a copy is read, which is fed while somebody reads. */
function feedCopy(
  { database, clock, log }: Base,
  {
    installation,
    add,
    dataProcess,
    list,
  }: DataParts & { readonly dataProcess: DataProcess; readonly list: ListViews },
): CopyFeed | undefined {
  if (database.kind !== "embedded") return undefined;
  const feed = openCopyFeed({
    ...{ database, dataProcess, clock, log },
    // Another secret or another installation finds nothing in it.
    identity: installation,
    listViews: async () => {
      const datasets = (await list()).filter(({ dataset }) => dataset !== null);
      return [...BUILT_IN_VIEWS, ...datasets];
    },
  });
  add(feed);
  return feed;
}

/**
 * Who may run statements, and who may read by statements that the gateway itself writes: these need no role of their
 * own, so they may use the gateway's login where it can make no roles.
 */
function admitReaders(
  { settings, clock, log }: Base,
  {
    biKeys,
    roles,
    isLicensed,
    list,
    used,
  }: DataParts & { readonly list: ListViews; readonly used: () => void },
) {
  const admitBy = (unable: (refusal: RoleRefusal) => UpstreamLogin): Admissions =>
    createAdmission({
      ...{ biKeys, isLicensed, clock, log, listViews: list },
      async rolesLogin(principal) {
        used();
        return roles.login(principal).catch((thrown: unknown) => {
          if (thrown instanceof RoleRefusal) return unable(thrown);
          throw thrown;
        });
      },
    });
  const { BIKEY_DATABASE_URL, DATABASE_URL = "" } = settings;
  return {
    admissions: admitBy(({ refusal: { message, hint = "" } }) => {
      throw new ServiceError("storage_unavailable", `${message} ${hint}`.trim());
    }),
    readers: admitBy(() => ({ url: BIKEY_DATABASE_URL ?? DATABASE_URL })),
  };
}

function stateText(
  { port, failure }: { port: number | null; failure: string | null },
  obstacle: AdmissionRefusal | undefined,
): string {
  if (port === null) return `closed: ${failure ?? "it is starting"}`;
  return obstacle === undefined ? "open" : `closed: ${obstacle.message}`;
}

async function configure(
  { settings, database }: Base,
  { roles, socketFolder }: { readonly roles: Roles; readonly socketFolder: string },
): Promise<ProcessConfig> {
  const folder = resolve(settings.DATA_DIR);
  const socketPath = join(socketFolder, "socket");
  const copy =
    database.kind === "embedded"
      ? { folder: copyFolder(folder), archive: embeddedArchive() }
      : null;
  // The operator's connections and the gateway's own need the other half.
  const limits = await roles.serverLimits();
  const mostSessions = limits && Math.floor(limits.maxConnections / 2);
  const common = { socketPath, copy, mostSessions, mostRunning: mostRunning(settings) };
  if (!settings.BIKEY_PG_PROXY_ENABLED) return { ...common, port: null };
  const port: PortConfig = {
    host: settings.HOST,
    port: settings.BIKEY_PG_PROXY_PORT,
    isPlainAllowed: settings.BIKEY_PG_PLAIN,
    certificateFile: settings.BIKEY_TLS_CERT_FILE ?? null,
    keyFile: settings.BIKEY_TLS_KEY_FILE ?? null,
    selfSignedFolder: folder,
    maxConnections: Math.min(settings.BIKEY_PG_MAX_CONNECTIONS, mostSessions ?? Infinity),
  };
  return { ...common, port };
}

/** A database server often stands on the same machine, where each statement takes a core from whoever chats. */
function mostRunning({ BIKEY_PG_MAX_RUNNING, BIKEY_DATABASE_URL }: Base["settings"]) {
  if (BIKEY_PG_MAX_RUNNING !== undefined) return BIKEY_PG_MAX_RUNNING;
  if (BIKEY_DATABASE_URL !== undefined) return null;
  return Math.max(2, Math.floor(availableParallelism() / 2));
}
