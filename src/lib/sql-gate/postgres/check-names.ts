import { Refused } from "../verdict.ts";
import type { FunctionCatalog } from "./function-catalog.ts";
import { CHECKED_BY_ARGUMENT, SYNTAX_FUNCTIONS } from "./function-lists.ts";
import type { TreeNode } from "./parse-postgres.ts";

type Names = ReadonlyMap<string, ReadonlySet<string>>;

/** Returns the words of a list of `String` nodes: a name with its schema before it. */
export function readName(nodes: unknown): readonly string[] {
  return (nodes as readonly TreeNode[]).map((node) => {
    const text = node["String"] as TreeNode | undefined;
    return text === undefined ? "*" : String(text["sval"] ?? "");
  });
}

/** Checks the function of a call. Without a schema it may be any overload of any schema. */
export function checkFunction(node: TreeNode, catalog: FunctionCatalog): void {
  const words = readName(node["funcname"]);
  const [name = "", schema] = words.toReversed();
  const isSyntax = node["funcformat"] === "COERCE_SQL_SYNTAX" && SYNTAX_FUNCTIONS.has(name);
  if (isSyntax && schema === "pg_catalog") return;
  checkCallable(name, schema, catalog);
  // A call by the name of a type is a cast to it.
  checkType([name], catalog);
}

function checkCallable(name: string, schema: string | undefined, catalog: FunctionCatalog): void {
  const written = schema === undefined ? name : `${schema}.${name}`;
  if (has(catalog.unsafeFunctions, schema, name)) {
    throw new Refused(
      `The function ${written} is refused: not all of its forms only read.`,
      schema === undefined && has(catalog.safeFunctions, "pg_catalog", name)
        ? `Write pg_catalog.${name}, for this database has another function of that name.`
        : "Use functions that are immutable or stable. A function of the database's own must be declared so.",
    );
  }
  if (has(catalog.safeFunctions, schema, name)) return;
  if (schema !== undefined && catalog.schemas?.functions.has(schema) === false) {
    throw new Refused(
      `The function ${written} is refused: only PostgreSQL's own may be called.`,
      `Use the functions of ${[...catalog.schemas.functions].join(" and ")}.`,
    );
  }
  throw new Refused(
    `The database has no function ${written}.`,
    "Check its name. Write a conversion to a type as CAST(x AS type).",
  );
}

/** Checks an operator that a statement names or, by its syntax, uses. */
export function checkOperator(words: readonly string[], catalog: FunctionCatalog): void {
  const [name = "", schema] = words.toReversed();
  if (has(catalog.unsafeOperators, schema, name) || !has(catalog.safeOperators, schema, name)) {
    throw new Refused(
      `The operator ${words.join(".")} is refused: it is unknown, or its function does not only read.`,
      `Write OPERATOR(pg_catalog.${name}) for PostgreSQL's own.`,
    );
  }
}

/** `a.f` and `(x).f` call the function `f` where the value has no such field. */
export function checkFields(words: readonly string[], catalog: FunctionCatalog): void {
  const call = words.find(
    (word) => catalog.unsafeFields.has(word) || CHECKED_BY_ARGUMENT.has(word),
  );
  if (call === undefined) return;
  throw new Refused(
    `The field ${call} is refused, because it could be a call of the function ${call}, which is not allowed in this form.`,
    "Where it is a column, write it without its table, or rename it in a subquery: (SELECT …) AS t(other_name).",
  );
}

/** A cast calls the functions of its type. */
export function checkType(words: readonly string[], catalog: FunctionCatalog): void {
  const [name = "", schema] = words.toReversed();
  if (schema !== undefined && catalog.schemas?.types.has(schema) === false) {
    throw new Refused(
      `The type ${words.join(".")} is refused: only PostgreSQL's own types may be named.`,
      "Leave the cast out, or cast to another type.",
    );
  }
  // `_x` is the type of arrays of `x`.
  if (!catalog.unsafeTypes.has(name) && !catalog.unsafeTypes.has(name.replace(/^_/, ""))) return;
  throw new Refused(
    `The type ${words.join(".")} is refused: a conversion to or from it calls a function that does not only read.`,
    "Leave the cast out, or cast to another type.",
  );
}

function has(names: Names, schema: string | undefined, name: string): boolean {
  if (schema !== undefined) return names.get(schema)?.has(name) ?? false;
  for (const members of names.values()) if (members.has(name)) return true;
  return false;
}
