import {
  Refused,
  refuseSeveral,
  refuseUnreadableText,
  type StatementKind,
  toVerdict,
  type Verdict,
} from "../verdict.ts";
import { checkFields, checkFunction, checkOperator, checkType, readName } from "./check-names.ts";
import type { FunctionCatalog } from "./function-catalog.ts";
import { parsePostgres, type TreeNode } from "./parse-postgres.ts";
import type { PostgresPolicy } from "./policy.ts";
import { walkTree } from "./walk-tree.ts";

/**
 * Decides whether a text may run on a PostgreSQL server whose functions are `catalog`: exactly one statement that only
 * reads, by the server's own grammar and an allow-list of its nodes. What an owner has built into views, domains, rules
 * and functions that are declared stable is not seen; a read-only transaction bounds it. The server must read the text
 * as the gate does: UTF-8 and `standard_conforming_strings = on`.
 */
export async function checkPostgres(
  sql: string,
  catalog: FunctionCatalog,
  policy: PostgresPolicy,
): Promise<Verdict> {
  const unreadable = toVerdict(() => {
    refuseUnreadableText(sql, policy.maxBytes);
    return "select";
  });
  if (unreadable.refusal !== undefined) return unreadable;
  let statements: readonly TreeNode[];
  try {
    statements = await parsePostgres(sql);
  } catch (thrown) {
    if (thrown instanceof Refused) return { refusal: thrown.refusal };
    throw thrown;
  }
  return toVerdict(() => {
    const [statement] = statements;
    if (statement === undefined) throw new Refused("The statement is empty.", "Write one SELECT.");
    if (statements.length > 1) refuseSeveral(statements.length);
    return checkStatement(statement, catalog, policy);
  });
}

/** Options that change how a plan is shown. `analyze`, and what needs it, would run the statement. */
const EXPLAIN_OPTIONS: ReadonlySet<string> = new Set([
  "verbose",
  "costs",
  "settings",
  "generic_plan",
  "buffers",
  "memory",
  "summary",
  "format",
]);

/** Checks one statement of a parse tree, and returns what it is. Throws `Refused`. */
export function checkStatement(
  statement: TreeNode,
  catalog: FunctionCatalog,
  policy: PostgresPolicy,
): StatementKind {
  const [type = "", body] = Object.entries(statement)[0] ?? [];
  const node = body as TreeNode;
  switch (type) {
    case "SelectStmt":
      allow("select", policy);
      checkQuery(statement, catalog, policy);
      return "select";
    case "ExplainStmt":
      allow("explain", policy);
      for (const option of (node["options"] ?? []) as TreeNode[]) checkExplainOption(option);
      checkQuery(node["query"] as TreeNode, catalog, policy);
      return "explain";
    case "VariableShowStmt":
      allow("show", policy);
      checkSetting(String(node["name"]), policy);
      return "show";
    default:
      throw new Refused(
        `${statementName(type)} is refused: only reading statements may run.`,
        "Write a SELECT, VALUES, TABLE, EXPLAIN or SHOW.",
      );
  }
}

function allow(kind: StatementKind, { statements }: PostgresPolicy): void {
  if (statements.has(kind)) return;
  throw new Refused(`${kind.toUpperCase()} is refused here.`, "Write a SELECT.");
}

/** `CreateTableAsStmt` becomes `CREATE TABLE AS`. */
function statementName(type: string): string {
  return type
    .replace(/Stmt$/, "")
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toUpperCase();
}

function checkExplainOption(option: TreeNode): void {
  const name = String((option["DefElem"] as TreeNode | undefined)?.["defname"]).toLowerCase();
  if (EXPLAIN_OPTIONS.has(name)) return;
  throw new Refused(
    `The option ${name.toUpperCase()} of EXPLAIN is refused.`,
    "Use EXPLAIN without ANALYZE, which would run the statement.",
  );
}

function checkSetting(name: string, { refuseSetting }: PostgresPolicy): void {
  const refusal = refuseSetting(name.toLowerCase());
  if (refusal !== undefined) throw new Refused(refusal.message, refusal.hint);
}

/** Checks a query, or an expression, with all that is in it. Throws `Refused`. */
export function checkQuery(
  query: TreeNode,
  catalog: FunctionCatalog,
  policy: PostgresPolicy,
): void {
  walkTree(query, (type, node) => checkNode(type, node, catalog, policy));
}

/** Checks what a single node names or, by its syntax, uses. */
function checkNode(
  type: string,
  node: TreeNode,
  catalog: FunctionCatalog,
  policy: PostgresPolicy,
): void {
  for (const operator of impliedOperators(type, node)) checkOperator([operator], catalog);
  switch (type) {
    case "FuncCall":
      checkFunction(node, catalog);
      checkArguments(node, policy);
      return;
    case "A_Expr": {
      const words = readName(node["name"]);
      if (!IMPLIED_BY_WORD.has(words.join(" "))) checkOperator(words, catalog);
      return;
    }
    case "SubLink":
      if (node["operName"] !== undefined) checkOperator(readName(node["operName"]), catalog);
      return;
    case "SortBy":
      if (node["useOp"] !== undefined) checkOperator(readName(node["useOp"]), catalog);
      return;
    case "ColumnRef": {
      const words = readName(node["fields"]);
      checkColumns(words, policy);
      checkFields(words.slice(1), catalog);
      return;
    }
    case "A_Indirection": {
      const words = readName(node["indirection"]);
      checkColumns(words, policy);
      checkFields(words, catalog);
      return;
    }
    case "TypeName":
      checkType(readName(node["names"]), catalog);
      return;
    case "RangeTableSample":
      checkSampling(readName(node["method"]));
      return;
    case "RangeVar":
      checkRelation(node, policy);
      return;
    case "ParamRef":
      if (policy.takesParameters) return;
      throw new Refused("Placeholders such as $1 are refused.", "Write the values themselves.");
    default:
  }
}

/** `BETWEEN` and its kin stand as words where an operator's name stands otherwise. */
const IMPLIED_BY_WORD: ReadonlyMap<string, readonly string[]> = new Map(
  ["BETWEEN", "NOT BETWEEN", "BETWEEN SYMMETRIC", "NOT BETWEEN SYMMETRIC"].map((word) => [
    word,
    ["<", "<=", ">", ">="],
  ]),
);

/** Operators that the server looks up by name although the statement does not write them. */
function impliedOperators(type: string, node: TreeNode): readonly string[] {
  const isComparison =
    (type === "CaseExpr" && node["arg"] !== undefined) ||
    (type === "SubLink" && node["testexpr"] !== undefined && node["operName"] === undefined) ||
    (type === "JoinExpr" && (node["isNatural"] === true || node["usingClause"] !== undefined));
  if (isComparison) return ["="];
  if (type === "CommonTableExpr" && node["cycle_clause"] !== undefined) return ["=", "<>"];
  if (type === "A_Expr") return IMPLIED_BY_WORD.get(readName(node["name"]).join(" ")) ?? [];
  return [];
}

function checkArguments(node: TreeNode, policy: PostgresPolicy): void {
  const name = readName(node["funcname"]).at(-1) ?? "";
  const args = (node["args"] ?? []) as readonly TreeNode[];
  policy.checkCall?.(name, args);
  if (name === "current_setting") checkSettingCall(args, policy);
}

/** A setting may hold a secret, so the one that is read must stand in the statement. */
function checkSettingCall([first]: readonly TreeNode[], policy: PostgresPolicy): void {
  const named = first?.["NamedArgExpr"] as TreeNode | undefined;
  const constant = ((named?.["arg"] as TreeNode | undefined) ?? first)?.["A_Const"] as
    | { sval?: { sval?: string } }
    | undefined;
  const name = constant?.sval?.sval;
  if (name === undefined) {
    throw new Refused(
      "current_setting is refused here.",
      "Give it the setting's name as a text: current_setting('TimeZone').",
    );
  }
  checkSetting(name, policy);
}

function checkColumns(words: readonly string[], { refuseColumn }: PostgresPolicy): void {
  for (const word of words) {
    const refusal = refuseColumn(word);
    if (refusal !== undefined) throw new Refused(refusal.message, refusal.hint);
  }
}

function checkSampling(words: readonly string[]): void {
  const [method = "", schema = "pg_catalog"] = words.toReversed();
  if (schema === "pg_catalog" && (method === "system" || method === "bernoulli")) return;
  throw new Refused(
    `The sampling method ${words.join(".")} is refused.`,
    "Use TABLESAMPLE SYSTEM or BERNOULLI.",
  );
}

function checkRelation(node: TreeNode, { refuseRelation }: PostgresPolicy): void {
  const schema = node["schemaname"];
  const refusal = refuseRelation({
    schema: schema === undefined ? undefined : String(schema),
    name: String(node["relname"] ?? ""),
  });
  if (refusal !== undefined) throw new Refused(refusal.message, refusal.hint);
}
