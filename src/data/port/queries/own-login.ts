import type { StatementReader } from "./read-statement.ts";

/** Refuses a text of a caller by any other login than that of its own role, whatever the server asks for. */
export function requireOwnLogin(reader: StatementReader): StatementReader {
  return {
    ...reader,
    async read(request, signal) {
      const { via, login, principal } = request;
      const isOwn =
        login === null || decodeURIComponent(new URL(login.url).username).endsWith(principal.id);
      if (via !== "query" || isOwn) return reader.read(request, signal);
      const message = "A query needs the login of its own key.";
      return { failure: { code: "28000", message } };
    },
  };
}
