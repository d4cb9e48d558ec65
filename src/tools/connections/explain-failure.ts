import { ServiceError } from "../../core/service-error.ts";
import { EgressError } from "../../lib/egress/egress-error.ts";
import { hideAddresses } from "../../lib/text/hide-addresses.ts";
import { WorkFailure } from "../../lib/worker/work-failure.ts";
import { DriverFault, type Target } from "./drivers/session.ts";

const MESSAGE_MAX = 1_000;
/** Shorter passwords would also be found in other words. */
const HIDDEN_MIN = 4;
const TLS_CODES =
  /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_TLS|ERR_SSL|EPROTO$|HANDSHAKE_SSL_ERROR$)/;
/** SQLSTATE classes of PostgreSQL: connection, authorization, no such database, resources, operator. */
const POSTGRES_SERVER = /^(08|28|3D000|53|57P|58|XX)/;
/** MySQL: too many connections, access denied, unknown database, host blocked, and their like. */
const MYSQL_SERVER = new Set([
  1040, 1042, 1043, 1044, 1045, 1049, 1053, 1129, 1130, 1203, 1251, 1698,
]);
/** `statement timeout` of PostgreSQL; of MySQL and MariaDB: interrupted, its time limit. */
const POSTGRES_TIME = "57014";
const MYSQL_TIME = new Set([1317, 1969, 3024]);

/**
 * Returns the error of a query that a model or an administrator may read: with the database's own words, but without
 * address and password.
 */
export function explainFailure(thrown: unknown, target: Target): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const { code, text } = describe(thrown);
  const name = `Saved connection '${target.connection.name}'`;
  return new ServiceError(code, `${name}: ${withoutSecrets(text, target)}`, { cause: thrown });
}

interface Explained {
  readonly code: "invalid_value" | "upstream_error" | "upstream_timeout";
  readonly text: string;
}

function describe(thrown: unknown): Explained {
  if (thrown instanceof EgressError) return unusable(`${thrown.message}.`);
  if (thrown instanceof DriverFault) {
    const isOfQuery = thrown.reason === "statement" || thrown.reason === "too_large";
    return { code: isOfQuery ? "invalid_value" : "upstream_error", text: thrown.message };
  }
  if (thrown instanceof WorkFailure) return unusable("The query could not be run; try again.");
  const error = (thrown instanceof Error ? thrown : new Error("unknown")) as DriverError;
  return ofPostgres(error) ?? ofMysql(error) ?? ofConnection(error);
}

/** The fields that the drivers and the system put into their errors. */
interface DriverError extends Error {
  readonly code?: string;
  readonly severity?: string;
  readonly hint?: string;
  readonly detail?: string;
  readonly errno?: number;
  readonly sqlMessage?: string;
}

function ofPostgres({ severity, code = "", message, hint }: DriverError): Explained | undefined {
  if (severity === undefined) return undefined;
  if (code === POSTGRES_TIME) return tookTooLong();
  const text = sentence(`${message} (${code})`) + (hint === undefined ? "" : ` ${sentence(hint)}`);
  return POSTGRES_SERVER.test(code) ? unusable(text) : { code: "invalid_value", text };
}

function ofMysql({ errno, sqlMessage }: DriverError): Explained | undefined {
  if (sqlMessage === undefined || typeof errno !== "number") return undefined;
  if (MYSQL_TIME.has(errno)) return tookTooLong();
  const text = sentence(`${sqlMessage} (${errno})`);
  return MYSQL_SERVER.has(errno) ? unusable(text) : { code: "invalid_value", text };
}

function ofConnection({ code = "", message }: DriverError): Explained {
  if (code === "HANDSHAKE_NO_SSL_SUPPORT") {
    return unusable("The server offers no TLS; 'tls' would have to be 'off'.");
  }
  if (TLS_CODES.test(code)) {
    return unusable(
      `TLS failed: ${sentence(message)} An authority of your own belongs into NODE_EXTRA_CA_CERTS; 'tls: on' takes any certificate.`,
    );
  }
  if (code === "AUTH_SWITCH_PLUGIN_ERROR" || code === "MYSQL_CLEAR_PASSWORD_NOT_ENABLED") {
    return unusable("The server asks for a way of logging in that is not supported.");
  }
  return unusable("The server closed the connection, or does not speak the protocol of this kind.");
}

function tookTooLong(): Explained {
  return { code: "upstream_timeout", text: "The query took too long and was ended." };
}

function unusable(text: string): Explained {
  return { code: "upstream_error", text };
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function withoutSecrets(text: string, { connection, password }: Target): string {
  const hidden = [
    [password, "[password]"],
    [connection.host, "[host]"],
  ] as const;
  const bare = hidden.reduce(
    (rest, [secret, mark]) =>
      secret === null || secret.length < HIDDEN_MIN ? rest : rest.replaceAll(secret, mark),
    text,
  );
  return hideAddresses(bare, MESSAGE_MAX);
}
