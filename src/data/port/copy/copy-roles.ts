import { quoteName, quoteText } from "../../copy/quote-sql.ts";
import type { Principal } from "../../principal.ts";
import type { CopyDatabase } from "./copy-database.ts";

/** The roles of principals in the copy: each reads its views and nothing else, and nobody logs in with it. */
export interface CopyRoles {
  /** Makes the role of a principal, or changes what it reads. Returns its name. The caller has the turn. */
  readonly prepare: (principal: Principal) => Promise<string>;
  /** Grants are made anew with the next turn of each principal, because views came or went. */
  readonly forget: () => void;
  /** Differs after each `forget`. */
  readonly generation: () => number;
}

export function createCopyRoles(database: CopyDatabase): CopyRoles {
  /** By role, the views that it reads. */
  const granted = new Map<string, string>();
  let isClean = false;
  let generation = 0;

  /** Roles of an earlier process may read what their keys may not see any more. */
  const removeOld = async (): Promise<void> => {
    const old = await database.query(
      "select rolname from pg_roles where rolname like 'reader\\_%'",
    );
    for (const [name] of old) {
      const role = quoteName(name ?? "");
      await database.query(`begin read write; drop owned by ${role}; drop role ${role}; commit`);
    }
    isClean = true;
  };
  return {
    async prepare({ id, views }) {
      if (!isClean) await removeOld();
      const role = `reader_${id}`;
      const wanted = JSON.stringify([...views].sort());
      if (granted.get(role) === wanted) return role;
      const name = quoteName(role);
      const [found] = await database.query(
        `select 1 from pg_roles where rolname = ${quoteText(role)}`,
      );
      const there = await database.query(
        `select viewname from pg_views where schemaname = 'data' and viewname in (${["", ...views].map(quoteText).join(", ")})`,
      );
      const relations = there.map(([view]) => `data.${quoteName(view ?? "")}`).join(", ");
      await database.query(
        [
          "begin read write",
          ...(found === undefined ? [`create role ${name} nologin noinherit`] : []),
          `grant usage on schema data to ${name}`,
          `revoke all on all tables in schema data from ${name}`,
          ...(relations === "" ? [] : [`grant select on ${relations} to ${name}`]),
          "commit",
        ].join("; "),
      );
      granted.set(role, wanted);
      return role;
    },
    forget() {
      granted.clear();
      generation += 1;
    },
    generation: () => generation,
  };
}
