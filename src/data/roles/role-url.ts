/** How a role connects, where the operator's URL leaves it open. */
export interface RoleAddress {
  readonly user: string;
  readonly password: string;
  /** The database where the URL names none. */
  readonly database: string;
  /** Whether the gateway's own connection is encrypted: what `prefer`, `allow` and no `sslmode` come to. */
  readonly isEncrypted: boolean;
}

/** Parameters that say where the server is and how it is trusted. Settings of the gateway's sessions are left out. */
const KEPT = ["host", "port", "sslrootcert", "sslcert", "sslkey"];

/**
 * Returns the URL of the same server and database for a role. It is read by `pg`, whose words for TLS differ from those
 * of the gateway's own driver: the parameters are written so that both trust the same servers.
 */
export function roleUrl(source: string, address: RoleAddress): string {
  const url = new URL(source);
  const given = url.searchParams;
  const kept = new URLSearchParams();
  for (const name of KEPT) {
    const value = given.get(name);
    if (value !== null && value !== "system") kept.set(name, value);
  }
  const mode = tlsMode(given, address.isEncrypted);
  kept.set("sslmode", mode);
  // With it, `require` encrypts without asking who the server is, as the gateway's own driver does.
  kept.set("uselibpqcompat", "true");
  if (mode !== "disable" && given.get("sslnegotiation") === "direct")
    kept.set("sslnegotiation", "direct");
  const options = addressOptions(given.get("options") ?? "");
  if (options !== "") kept.set("options", options);
  // An empty host takes no user. Of several hosts, `pg` knows one.
  if (url.hostname === "") url.hostname = "localhost";
  const [first = ""] = url.hostname.split(",");
  if (first !== url.hostname) url.hostname = first;
  url.username = address.user;
  url.password = address.password;
  if (url.pathname.length <= 1) url.pathname = `/${address.database}`;
  url.hash = "";
  // `URLSearchParams` writes a space as `+`, which is also what a `+` in a path or an option would be read as.
  url.search = kept.toString().replaceAll("+", "%20");
  return url.href;
}

/** The `sslmode` of libpq. */
function tlsMode(given: URLSearchParams, isEncrypted: boolean): string {
  const hasAuthority = given.has("sslrootcert") && given.get("sslrootcert") !== "system";
  const word = given.get("sslmode") ?? given.get("ssl") ?? "";
  switch (given.get("sslrootcert") === "system" ? "verify-full" : word) {
    case "disable":
    case "false":
    case "0":
      return "disable";
    case "":
    case "allow":
    case "prefer":
      return isEncrypted ? "require" : "disable";
    case "require":
      return "require";
    case "verify-ca":
      return hasAuthority ? "verify-ca" : "verify-full";
    default:
      return "verify-full";
  }
}

/**
 * The part of `options` by which a provider finds the server, such as `endpoint=…`. Settings (`-c`, `--name=value`)
 * would replace those of the role.
 */
function addressOptions(options: string): string {
  const words = options.split(/\s+/);
  return words
    .filter((word, index) => word !== "" && !word.startsWith("-") && words[index - 1] !== "-c")
    .join(" ");
}
