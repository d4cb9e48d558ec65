/** Where clients reach this server. */
export interface DataAddress {
  /** A name or an address, as in a `Host` header: an IPv6 address in brackets. */
  readonly host: string;
  /** The PostgreSQL port; null where it is not open. */
  readonly port: number | null;
  /** Why it is not open. */
  readonly reason: string | null;
  /** The address of the HTTP interface without a path. */
  readonly origin: string;
}

/** Texts to paste into clients. Those for the PostgreSQL port are null where it is not open. */
export interface ConnectionTexts {
  /** A URI of libpq, which notebooks read too. Clients of Node take its `require` for `verify-full`. */
  readonly uri: string | null;
  readonly psql: string | null;
  readonly jdbc: string | null;
  /** Npgsql, which Power BI uses too. */
  readonly dotnet: string | null;
  readonly sqlalchemy: string | null;
  readonly odbc: string | null;
  /** A call with `curl`. */
  readonly http: string;
  /** For forms with single fields, such as those of Metabase, Grafana and Power BI. The password is the key. */
  readonly fields: ConnectionFields | null;
  /** Why there is no text for the PostgreSQL port; null where there is. */
  readonly reason: string | null;
}

export interface ConnectionFields {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly sslmode: string;
}

/** Every database name is accepted at the port; the views are in the schema of this name. */
const DATABASE = "data";
/**
 * TLS is required, and the certificate not checked: it is self-signed unless the operator sets one. Who has a
 * certificate of a known authority can raise it to `verify-full`.
 */
const SSL_MODE = "require";
const USER_MAX_LENGTH = 40;
const NAMELESS_USER = "reader";

/**
 * Builds the texts with which common clients connect. No value needs quotes in any of the formats: the host is one of a
 * well-formed `Host` header, the user has `a-z0-9_` only, and the secret letters and digits.
 */
export function connectionTexts(
  { host, port, reason, origin }: DataAddress,
  { name, secret }: { readonly name: string; readonly secret: string },
): ConnectionTexts {
  const http = `curl -H "Authorization: Bearer ${secret}" "${origin}/v1/data"`;
  if (port === null) {
    const none = { uri: null, psql: null, jdbc: null, dotnet: null, sqlalchemy: null, odbc: null };
    return { ...none, http, fields: null, reason };
  }
  const user = userOf(name);
  const bareHost = host.replace(/^\[(.*)\]$/, "$1");
  const server = `${host}:${port}/${DATABASE}`;
  const rest = `${user}:${secret}@${server}?sslmode=${SSL_MODE}`;
  return {
    uri: `postgresql://${rest}`,
    psql: `psql "postgresql://${rest}"`,
    jdbc: `jdbc:postgresql://${server}?user=${user}&password=${secret}&sslmode=${SSL_MODE}`,
    dotnet:
      `Host=${bareHost};Port=${port};Database=${DATABASE};Username=${user};Password=${secret};` +
      "SSL Mode=Require;Trust Server Certificate=true",
    sqlalchemy: `postgresql+psycopg://${rest}`,
    odbc:
      `Driver={PostgreSQL Unicode};Server=${bareHost};Port=${port};Database=${DATABASE};` +
      `Uid=${user};Pwd=${secret};SSLmode=${SSL_MODE}`,
    http,
    fields: { host: bareHost, port, database: DATABASE, user, sslmode: SSL_MODE },
    reason: null,
  };
}

/** Any user name is accepted at the port; this one tells people which key it is. */
function userOf(name: string): string {
  const letters = name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, USER_MAX_LENGTH)
    .replaceAll(/^_+|_+$/g, "");
  return letters === "" ? NAMELESS_USER : letters;
}
