import { readName } from "../../../lib/sql-gate/postgres/check-names.ts";
import { checkQuery, checkStatement } from "../../../lib/sql-gate/postgres/check-postgres.ts";
import type { FunctionCatalog } from "../../../lib/sql-gate/postgres/function-catalog.ts";
import type { TreeNode } from "../../../lib/sql-gate/postgres/parse-postgres.ts";
import type { PostgresPolicy } from "../../../lib/sql-gate/postgres/policy.ts";
import { Refused } from "../../../lib/sql-gate/verdict.ts";
import { checkQueryNames } from "./check-query-names.ts";
import { PORT_POLICY, QUERY_POLICY } from "./port-policy.ts";
import { checkSetting } from "./settings.ts";
import type { GateOptions, PortStatementKind } from "./statement-gate.ts";

/**
 * Checks one statement of a client, and returns what it does to the session. `catalog` is the port's. Throws `Refused`.
 * @param relations see `GateVerdict`.
 */
export function checkPortStatement(
  statement: TreeNode,
  catalog: FunctionCatalog,
  { timeoutSeconds, isOneQuery = false }: GateOptions,
  relations: Set<string>,
): PortStatementKind {
  const [type = "", body] = Object.entries(statement)[0] ?? [];
  const node = body as TreeNode;
  const session = SESSION_STATEMENTS.get(type);
  if (isOneQuery) {
    const kind = checkReading(type, statement, { catalog, policy: QUERY_POLICY });
    const query = type === "ExplainStmt" ? (node["query"] as TreeNode) : statement;
    if (kind === "read") for (const name of checkQueryNames(query, catalog)) relations.add(name);
    return kind;
  }
  if (session === undefined) {
    if (type === "SelectStmt" && isUnlock(node)) return "discard";
    return checkReading(type, statement, { catalog, policy: PORT_POLICY });
  }
  return session(node, { catalog, timeoutSeconds });
}

function checkReading(
  type: string,
  statement: TreeNode,
  { catalog, policy }: { readonly catalog: FunctionCatalog; readonly policy: PostgresPolicy },
): "read" | "show" {
  const hint = HINTS.get(type);
  if (hint === undefined) {
    return checkStatement(statement, catalog, policy) === "show" ? "show" : "read";
  }
  const name = type.replace(/Stmt$/, "").toUpperCase();
  throw new Refused(`${name} is refused: only reading statements may run.`, hint);
}

/**
 * `SELECT pg_advisory_unlock_all()` and nothing else, as pools reset a session. A reader has no locks of its own; the
 * one that marks its place is taken again (`session/requests.ts`).
 */
function isUnlock(select: TreeNode): boolean {
  const [target, ...more] = nodes(select["targetList"]);
  const result = (target?.["ResTarget"] ?? {}) as TreeNode;
  const call = ((result["val"] as TreeNode | undefined)?.["FuncCall"] ?? {}) as TreeNode;
  const parts = [...Object.keys(select), ...Object.keys(result), ...Object.keys(call)];
  if (more.length > 0 || !parts.every((part) => UNLOCK_PARTS.has(part))) return false;
  return UNLOCK_ALL.test(readName(call["funcname"] ?? []).join("."));
}

const UNLOCK_ALL = /^(pg_catalog\.)?pg_advisory_unlock_all$/;
/** What the parse tree of this statement has. */
const UNLOCK_PARTS: ReadonlySet<string> = new Set([
  ...["targetList", "limitOption", "op"],
  ...["val", "name", "location"],
  ...["funcname", "funcformat"],
]);

/** What to do instead of statements that clients try most. */
const HINTS: ReadonlyMap<string, string> = new Map([
  [
    "CopyStmt",
    "Write a SELECT, or fetch large results through a cursor. psql: \\copy does not work.",
  ],
  ["ListenStmt", "Ask for new rows again after a while: this connection has no notifications."],
  ["LockStmt", "A key only reads, and reading needs no locks."],
  [
    "VacuumStmt",
    "The gateway keeps its tables in order itself. EXPLAIN without ANALYZE shows a plan.",
  ],
]);

interface Session {
  readonly catalog: FunctionCatalog;
  readonly timeoutSeconds: number | undefined;
}

type CheckSession = (node: TreeNode, session: Session) => PortStatementKind;

const SESSION_STATEMENTS: ReadonlyMap<string, CheckSession> = new Map<string, CheckSession>([
  ["TransactionStmt", checkTransaction],
  ["VariableSetStmt", checkSet],
  [
    "DeclareCursorStmt",
    (node, { catalog }) => {
      checkInner(node["query"] as TreeNode, catalog);
      return "declare";
    },
  ],
  ["FetchStmt", () => "fetch"],
  ["ClosePortalStmt", () => "close"],
  [
    "PrepareStmt",
    (node, { catalog }) => {
      for (const type of nodes(node["argtypes"])) checkQuery(type, catalog, PORT_POLICY);
      checkInner(node["query"] as TreeNode, catalog);
      return "prepare";
    },
  ],
  [
    "ExecuteStmt",
    (node, { catalog }) => {
      for (const value of nodes(node["params"])) checkQuery(value, catalog, PORT_POLICY);
      return "execute";
    },
  ],
  ["DeallocateStmt", () => "deallocate"],
  ["DiscardStmt", () => "discard"],
  // There is nothing to stop listening to.
  ["UnlistenStmt", () => "discard"],
]);

const nodes = (list: unknown) => (list ?? []) as readonly TreeNode[];

/** The statement inside of another one may only be a query. */
function checkInner(query: TreeNode, catalog: FunctionCatalog): void {
  checkQuery(query, catalog, PORT_POLICY);
}

const TRANSACTIONS: ReadonlyMap<unknown, PortStatementKind> = new Map<unknown, PortStatementKind>([
  ["TRANS_STMT_BEGIN", "begin"],
  ["TRANS_STMT_START", "begin"],
  ["TRANS_STMT_COMMIT", "end"],
  ["TRANS_STMT_ROLLBACK", "end"],
  ["TRANS_STMT_SAVEPOINT", "savepoint"],
  ["TRANS_STMT_RELEASE", "savepoint"],
  ["TRANS_STMT_ROLLBACK_TO", "savepoint"],
]);

function checkTransaction(node: TreeNode): PortStatementKind {
  const kind = TRANSACTIONS.get(node["kind"]);
  if (kind === undefined) {
    throw new Refused(
      "Prepared transactions are refused.",
      "End the transaction by COMMIT or ROLLBACK.",
    );
  }
  checkModes(node["options"]);
  return kind;
}

/** READ WRITE, NOT DEFERRABLE and their opposites stand as 0 and 1, and a node without its value is a 0. */
function checkModes(options: unknown): void {
  for (const option of nodes(options)) {
    const { defname, arg } = option["DefElem"] as { defname?: string; arg?: TreeNode };
    const [value = ""] = readValues([arg ?? {}]);
    switch (defname) {
      case "transaction_isolation":
      case "transaction_deferrable":
        break;
      case "transaction_read_only":
        if (value === "1") break;
        throw new Refused("READ WRITE is refused: a key only reads.", "Write READ ONLY, or BEGIN.");
      default:
        throw new Refused(`The transaction mode ${defname} is refused.`, "Leave it out.");
    }
  }
}

function checkSet(node: TreeNode, { catalog, timeoutSeconds }: Session): PortStatementKind {
  const { kind, args } = node;
  const name = String(node["name"] ?? "");
  switch (kind) {
    case "VAR_RESET_ALL":
      return "discard";
    case "VAR_RESET":
    case "VAR_SET_DEFAULT":
      // As pools reset a session: it is its own role already.
      if (name === "session_authorization") return "set";
      checkSetting(name, undefined, timeoutSeconds);
      return "set";
    case "VAR_SET_VALUE":
      // SET TIME ZONE also takes an interval, which is a cast.
      for (const value of nodes(args)) checkQuery(value, catalog, PORT_POLICY);
      checkSetting(name, readValues(nodes(args)), timeoutSeconds);
      return "set";
    case "VAR_SET_MULTI":
      if (name === "TRANSACTION" || name === "SESSION CHARACTERISTICS") {
        checkModes(args);
        return "set";
      }
      break;
    default:
  }
  throw new Refused(`SET ${name} in this form is refused.`, "Write SET name = value.");
}

/** The constants of a list as texts; of anything else the empty text. */
function readValues(args: readonly TreeNode[]): readonly string[] {
  return args.map((arg) => {
    const constant = arg["A_Const"] as Readonly<Record<string, TreeNode>> | undefined;
    if (constant === undefined) return "";
    if (constant["sval"] !== undefined) return String(constant["sval"]["sval"] ?? "");
    if (constant["ival"] !== undefined) return String(constant["ival"]["ival"] ?? 0);
    return String(constant["fval"]?.["fval"] ?? "");
  });
}
