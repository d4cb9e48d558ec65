import type { IssuedBiKey } from "../../api/queries/bi-keys.ts";

/** How one tool connects: a text to paste, or the fields of its form. */
export interface ConnectionTool {
  readonly id: string;
  readonly label: string;
  /** Where it goes, or what to know. */
  readonly hint: string;
  readonly text?: string;
  readonly fields?: ReadonlyArray<readonly [name: string, value: string]>;
}

/** Returns how tools connect with a key; those that need the PostgreSQL port only where it is open. */
export function connectionTools({ key, connections }: IssuedBiKey): readonly ConnectionTool[] {
  const { psql, jdbc, dotnet, sqlalchemy, odbc, uri, http } = connections;
  const texts: ReadonlyArray<readonly [string, string, string, string | null]> = [
    ["psql", "psql", "A command for a shell.", psql],
    ["jdbc", "JDBC", "The address for the PostgreSQL JDBC driver, as DBeaver takes it.", jdbc],
    ["dotnet", ".NET", "The connection string for Npgsql.", dotnet],
    [
      "sqlalchemy",
      "SQLAlchemy",
      "For SQLAlchemy 2 with psycopg 3; write postgresql+psycopg2 for psycopg 2 or SQLAlchemy 1.4.",
      sqlalchemy,
    ],
    ["odbc", "ODBC", "The connection string for psqlODBC.", odbc],
    [
      "uri",
      "URI",
      "For libpq and what is built on it. Node's pg needs uselibpqcompat=true& before sslmode.",
      uri,
    ],
  ];
  return [
    ...texts.flatMap(([id, label, hint, text]) =>
      text === null ? [] : [{ id, label, hint, text }],
    ),
    ...forms(key, connections.fields),
    {
      id: "curl",
      label: "curl",
      hint: "Lists the tables over HTTP; no port is needed.",
      text: http,
    },
  ];
}

function forms(key: string, fields: IssuedBiKey["connections"]["fields"]): ConnectionTool[] {
  if (fields === null) return [];
  const { host, port, database, user } = fields;
  // An IPv6 address has colons of its own.
  const server = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return [
    {
      id: "power-bi",
      label: "Power BI",
      hint: "Get data › PostgreSQL database. User and password are asked for under Database.",
      fields: [
        ["Server", server],
        ["Database", database],
        ["User name", user],
        ["Password", key],
      ],
    },
    {
      id: "metabase",
      label: "Metabase",
      hint: "Add a database › PostgreSQL. Switch on “Use a secure connection (SSL)”, mode require.",
      fields: [
        ["Host", host],
        ["Port", String(port)],
        ["Database name", database],
        ["Username", user],
        ["Password", key],
      ],
    },
    {
      id: "grafana",
      label: "Grafana",
      hint: "Add a data source › PostgreSQL. Columns such as started_at and day_start are times for its charts.",
      fields: [
        ["Host URL", server],
        ["Database name", database],
        ["Username", user],
        ["Password", key],
        ["TLS/SSL mode", "require"],
      ],
    },
  ];
}
