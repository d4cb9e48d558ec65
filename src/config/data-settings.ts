import { databaseUrl, flag, name, number, positive } from "./setting-types.ts";

/** What BI keys read: `/v1/data` and the PostgreSQL port. */
export const dataSettings = {
  BIKEY_PG_PROXY_ENABLED: flag
    .prefault("0")
    .describe("1 opens a port on which BI keys read data with any PostgreSQL client."),
  BIKEY_PG_PROXY_PORT: number
    .min(0)
    .max(65_535)
    .default(5434)
    .describe("Port for PostgreSQL clients, on HOST; 0 selects a free port."),
  BIKEY_PG_PLAIN: flag
    .prefault("0")
    .describe(
      "1 accepts PostgreSQL clients without TLS from other machines too, for a network that encrypts by itself.",
    ),
  BIKEY_TLS_CERT_FILE: name
    .optional()
    .describe(
      "Certificate chain of the PostgreSQL port, PEM; unset makes a self-signed one in DATA_DIR.",
    ),
  BIKEY_TLS_KEY_FILE: name.optional().describe("Private key of that certificate, PEM."),
  BIKEY_PG_MAX_CONNECTIONS: positive
    .max(10_000)
    .default(100)
    .describe(
      "Connections of PostgreSQL clients, and never more than half of what the database server allows.",
    ),
  BIKEY_PG_MAX_RUNNING: positive
    .max(10_000)
    .optional()
    .describe(
      "Statements of BI keys that PostgreSQL works on at once, of one key at most half of them; others wait for their turn. Unset: half of this machine's cores and at least 2, or any number with BIKEY_DATABASE_URL.",
    ),
  BIKEY_DATABASE_URL: databaseUrl
    .optional()
    .describe(
      "A streaming replica of DATABASE_URL, from which BI keys read instead; unset reads from DATABASE_URL.",
    ),
};
