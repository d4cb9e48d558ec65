import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import type { UpstreamLogin } from "../../principal.ts";
import type { OpenSession } from "../engine.ts";

/** Where and as whom a session logs in. */
export interface UpstreamAddress {
  /** A name, an address, or the folder of a unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  /** False to speak plainly. */
  readonly ssl: false | ConnectionOptions;
}

const DEFAULT_PORT = 5432;
const UNVERIFIED = new Set(["require", "allow", "prefer"]);
/** What a client may set at its start; the listener has checked the names and the timeout. */
const SETTINGS = new Set([
  "datestyle",
  "timezone",
  "intervalstyle",
  "extra_float_digits",
  "search_path",
  "statement_timeout",
]);
const MAX_NAME_BYTES = 63;

/**
 * Reads the URL of a login. `sslmode` means what it means for the gateway's own connections: `disable` is plain,
 * `require`, `allow` and `prefer` encrypt without a check of the certificate, anything else checks it.
 */
export function readAddress({ url }: UpstreamLogin): UpstreamAddress {
  const { hostname, port, pathname, username, password, searchParams } = new URL(url);
  const user = decodeURIComponent(username);
  return {
    host:
      searchParams.get("host") ??
      (decodeURIComponent(hostname).replace(/^\[|\]$/g, "") || "localhost"),
    port: Number(port || searchParams.get("port") || DEFAULT_PORT),
    database: decodeURIComponent(pathname.slice(1)) || user,
    user,
    password: decodeURIComponent(password),
    ssl: readTls(searchParams),
  };
}

function readTls(parameters: URLSearchParams): false | ConnectionOptions {
  const mode = parameters.get("sslmode") ?? parameters.get("ssl") ?? "disable";
  if (mode === "disable" || mode === "false" || mode === "0") return false;
  if (UNVERIFIED.has(mode)) return { rejectUnauthorized: false };
  const root = parameters.get("sslrootcert");
  if (root === null || root === "system") return {};
  const ca = readFileSync(root);
  return mode === "verify-ca" ? { ca, checkServerIdentity: () => undefined } : { ca };
}

/** The settings of a session's start, as words of a command line. */
export function startOptions(parameters: OpenSession["parameters"]): string {
  const settings = [...parameters].filter(([name]) => SETTINGS.has(name.toLowerCase()));
  return [["client_encoding", "UTF8"], ...settings]
    .map(([name, value]) => `-c ${name}=${String(value).replace(/[\\\s]/g, "\\$&")}`)
    .join(" ");
}

/** Names the principal before what the client calls itself, within what PostgreSQL keeps of a name. */
export function applicationName({ principal, parameters }: OpenSession): string {
  const own = parameters.get("application_name") ?? "";
  const name = own === "" ? `bi ${principal.name}` : `bi ${principal.name}: ${own}`;
  return name.replace(/[^ -~]/g, "?").slice(0, MAX_NAME_BYTES);
}
