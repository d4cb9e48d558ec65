import type { Connection, ConnectionChange, NewConnection } from "../../api/queries/connections.ts";

/** A connection's fields as a form holds them. Empty texts are not sent. */
export interface ConnectionDraft {
  readonly name: string;
  readonly kind: Connection["kind"];
  readonly host: string;
  readonly port: number | null;
  readonly database: string;
  readonly user: string;
  /** Null leaves the saved one. */
  readonly password: string | null;
  readonly tls: "off" | "on" | "verify";
  readonly file: string;
  readonly description: string;
}

export const NEW_CONNECTION: ConnectionDraft = {
  name: "",
  kind: "postgres",
  host: "",
  port: null,
  database: "",
  user: "",
  password: null,
  tls: "verify",
  file: "workspace/",
  description: "",
};

export function toDraft(connection: Connection): ConnectionDraft {
  const { name, kind, host, port, database, user, tls, file, description } = connection;
  return {
    ...{ name, kind, port, password: null },
    host: host ?? "",
    database: database ?? "",
    user: user ?? "",
    tls: tls ?? "verify",
    file: file ?? "",
    description: description ?? "",
  };
}

export function toNewConnection(draft: ConnectionDraft): NewConnection {
  const { name, kind } = draft;
  const fields = Object.entries(fieldsOf(draft)).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(fields), name, kind };
}

/** Returns the fields in which a draft differs from another, as the API names them. */
export function changesOf(draft: ConnectionDraft, from: ConnectionDraft): ConnectionChange {
  const { password: _, ...before } = fieldsOf(from);
  const { password, ...now } = fieldsOf(draft);
  const changed = Object.entries({ ...now, name: draft.name }).filter(
    ([name, value]) => value !== { ...before, name: from.name }[name as keyof typeof before],
  );
  return { ...Object.fromEntries(changed), ...(password !== null && { password }) };
}

/** What a kind has; the rest is null. */
function fieldsOf(draft: ConnectionDraft) {
  const text = (value: string) => (value === "" ? null : value);
  const description = text(draft.description);
  if (draft.kind === "sqlite") {
    const none = { host: null, port: null, database: null, user: null, tls: null, password: null };
    return { ...none, file: text(draft.file), description };
  }
  return {
    host: text(draft.host),
    port: draft.port,
    database: text(draft.database),
    user: text(draft.user),
    tls: draft.tls,
    password: draft.password === null || draft.password === "" ? null : draft.password,
    file: null,
    description,
  };
}
