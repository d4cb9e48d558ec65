import type { CheckText } from "../../../../src/data/port/gate/statement-gate.ts";

export const passAll: CheckText = async (sql) => ({
  statements: ["read"],
  normalized: sql.replace(/\d+/g, "$1"),
  relations: [],
});

/** Refuses texts with the word FORBIDDEN, each after a turn of the loop, as a parser of another thread would. */
export const refuseSome: CheckText = async (sql, catalog) => {
  await new Promise((resolve) => setImmediate(resolve));
  if (!sql.includes("FORBIDDEN")) return passAll(sql, catalog);
  const refusal = { code: "42501", message: "Not here.", hint: "Read.", position: 3 };
  return { refusal, normalized: sql };
};
