import { ServiceError } from "../../core/service-error.ts";
import { nameKey } from "../../knowledge/assistants/name-key.ts";
import type { FileConnections } from "../../knowledge/file-connections.ts";
import { EgressError } from "../../lib/egress/egress-error.ts";
import { normalHost } from "../../lib/egress/pinned-socket.ts";
import type { ConnectionKind, SavedConnection } from "./connection.ts";

/** The fields that an administrator sets, beside the password. */
export type ConnectionFields = Omit<SavedConnection, "id" | "createdAt">;

type Given = { readonly [Name in keyof ConnectionFields]?: ConnectionFields[Name] | undefined };

/** What an administrator sends for a new connection. */
export interface NewConnection extends Given {
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly password?: string | null | undefined;
}

/** The fields to change. The password is kept when it is undefined, and removed when it is null. */
export interface ConnectionPatch extends Omit<Given, "kind"> {
  readonly password?: string | null | undefined;
}

const PORTS = { postgres: 5432, mysql: 3306 } as const;
const OF_SERVERS = ["host", "port", "database", "user", "tls"] as const;

/** Fills in the usual values of a kind. */
export function completed(given: Omit<NewConnection, "password">): ConnectionFields {
  const { kind } = given;
  const isServer = kind !== "sqlite";
  return {
    name: given.name,
    kind,
    host: given.host ?? null,
    port: given.port ?? (isServer ? PORTS[kind] : null),
    database: given.database ?? null,
    user: given.user ?? null,
    tls: given.tls ?? (isServer ? "verify" : null),
    file: given.file ?? null,
    description: given.description ?? null,
  };
}

/** Throws `invalid_value` for a field that its kind does not have, or that its kind needs and is missing. */
export function checkFields(
  { fileConnections }: { readonly fileConnections: Pick<FileConnections, "find"> },
  fields: ConnectionFields,
  password: string | null | undefined,
): void {
  if (nameKey(fields.name) === "" || fields.name.includes("*")) {
    throw wrong("name", "a name of visible characters without '*', which stands for any name");
  }
  if (fields.kind !== "sqlite") checkServer(fields);
  else if (password == null) checkFile(fileConnections, fields);
  else throw otherKind("password", fields.kind);
}

/**
 * Throws `invalid_value` when a stored password would be sent to another server, or for another user, than it was
 * meant for: an administrator could read it there.
 */
export function refuseMovedPassword(
  before: ConnectionFields & { readonly sealedPassword: string | null },
  after: ConnectionFields,
  password: string | null | undefined,
): void {
  if (before.sealedPassword === null || password !== undefined) return;
  const moved = (["host", "port", "user"] as const).find((name) => before[name] !== after[name]);
  const isLessSafe = TLS_ORDER.indexOf(after.tls) < TLS_ORDER.indexOf(before.tls);
  if (moved === undefined && !isLessSafe) return;
  const param = moved ?? "tls";
  throw new ServiceError(
    "invalid_value",
    `'${param}' changes where the stored password is sent. Send 'password' again in the same call, or null to remove it.`,
    { param: "password" },
  );
}

/** From the least safe on: a password must not be sent less safely than it was meant to be. */
const TLS_ORDER: readonly ConnectionFields["tls"][] = [null, "off", "on", "verify"];

function checkServer(fields: ConnectionFields): void {
  const { kind, host, file } = fields;
  if (file !== null) throw otherKind("file", kind);
  if (host === null) throw wrong("host", "the host of the server");
  checkHost(host);
  if (fields.port === null) throw wrong("port", "the port of the server");
  if (fields.user === null) throw wrong("user", "the user to log in as");
  if (fields.tls === null) throw wrong("tls", "'off', 'on' or 'verify'");
  if (kind === "postgres" && fields.database === null) {
    throw wrong("database", "the name of the database");
  }
}

function checkHost(host: string): void {
  try {
    normalHost(host);
  } catch (thrown) {
    if (thrown instanceof EgressError) throw wrong("host", "a host name or an address");
    throw thrown;
  }
}

function checkFile(files: Pick<FileConnections, "find">, fields: ConnectionFields): void {
  for (const name of OF_SERVERS) if (fields[name] !== null) throw otherKind(name, fields.kind);
  const [connection = "", ...levels] = (fields.file ?? "").split("/");
  if (fields.file === null || levels.length === 0 || levels.join("") === "") {
    throw wrong("file", "the name of a file connection, '/', and the path of the file in it");
  }
  if (levels.includes("..")) throw wrong("file", "a path without '..'");
  if (files.find(connection) === undefined) {
    throw wrong("file", "'workspace' or the name of a folder of WATCH_DIRS before the first '/'");
  }
}

function otherKind(param: string, kind: ConnectionKind): ServiceError {
  return new ServiceError("invalid_value", `'${param}' does not belong to the kind '${kind}'.`, {
    param,
  });
}

function wrong(param: string, expected: string): ServiceError {
  return new ServiceError("invalid_value", `'${param}' must be ${expected}.`, { param });
}
