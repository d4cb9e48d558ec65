import { EngineRefusal } from "../engine.ts";

const AGAIN = "Try again in a moment.";
/** Errors of the login that more time may end: a role that was just made, and its rights, reach a replica later. */
const OF_THE_ROLE = new Set(["28P01", "28000", "42501"]);

export function isRoleUnknown(thrown: unknown): boolean {
  return OF_THE_ROLE.has(codeOf(thrown));
}

/** Tells a client why no session could be opened, without what only the operator may know, such as addresses. */
export function toEngineRefusal(thrown: unknown): EngineRefusal {
  if (thrown instanceof EngineRefusal) return thrown;
  const code = codeOf(thrown);
  if (code === "53300") {
    return new EngineRefusal(code, "The database has no free connection for this key.", AGAIN);
  }
  if (OF_THE_ROLE.has(code) || code === "3D000") {
    const hint = "Ask an administrator: the gateway's log says more.";
    return new EngineRefusal("28000", "The database does not let this key's role log in.", hint);
  }
  // A wrong value for a setting of the client's own, in PostgreSQL's words.
  if (code.startsWith("22") || code.startsWith("42")) {
    return new EngineRefusal(code, (thrown as Error).message);
  }
  return new EngineRefusal("57P03", "The database is away or just starting.", AGAIN);
}

function codeOf(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : "";
}
